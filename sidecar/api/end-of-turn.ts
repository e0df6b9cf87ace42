/** Collects items and handles them together at the end of a turn of the event loop. */
export interface AtEndOfTurn<Item> {
  add(item: Item): void
  /** Handles the items after everything that is planned for the end of this turn so far. */
  runLast(): void
}

/**
 * Calls `work`, which must not throw, with each added item once the event loop has handled all input of the turn.
 * Calls `onFirst` when a turn gets its first item.
 */
export function createAtEndOfTurn<Item>(work: (item: Item) => void, onFirst = () => {}): AtEndOfTurn<Item> {
  let items: Item[] = []

  function run(): void {
    const collected = items
    items = []
    for (const item of collected) work(item)
  }

  const runLast = () => void setImmediate(run)
  return {
    add(item) {
      if (items.push(item) > 1) return
      runLast()
      onFirst()
    },
    runLast,
  }
}
