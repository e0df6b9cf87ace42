/** Collects items and handles them together at the end of a turn of the event loop. */
export interface TurnBatch<Item> {
  add(item: Item): void
  /**
   * Handles the collected items once more in this turn, after all work that is planned for the end of the turn so far.
   * So items that this work adds are handled in the same turn.
   */
  runLast(): void
}

/**
 * Creates a collector that calls `work` with each added item, once the event loop has handled all input of the turn.
 * `work` must not throw. `onFirst` is called with the first item of each turn.
 */
export function createTurnBatch<Item>(work: (item: Item) => void, onFirst = () => {}): TurnBatch<Item> {
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
