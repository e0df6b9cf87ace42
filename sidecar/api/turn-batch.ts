/** Collects items and handles them together at the end of a turn of the event loop. */
export interface TurnBatch<Item> {
  add(item: Item): void
  /**
   * Handles collected items once more, after all work planned for this turn. So items that this work adds are handled
   * in the same turn.
   */
  runLast(): void
}

/**
 * Creates a collector that calls `work` with each item, once the event loop has handled all input of the turn.
 *
 * @param work must not throw
 * @param onFirst called when a turn's first item is added
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
