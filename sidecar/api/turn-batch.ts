/** Collects items and handles them together at the end of a turn of the event loop. */
export interface TurnBatch<Item> {
  add(item: Item): void
  /** Handles items once more after all work planned for this turn, so that items that this work adds need not wait. */
  runLast(): void
}

/**
 * Creates a collector that calls `work` with each item at the end of the event loop's turn, and `onFirst` at a turn's
 * first item.
 *
 * @param work must not throw
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
