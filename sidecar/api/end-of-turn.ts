/** Does something for many at the end of a turn of the event loop. */
export interface AtEndOfTurn<Item> {
  add(item: Item): void
  /** Does so behind everything that is planned for the end of this turn up to now, whatever else is. */
  last(): void
}

/**
 * Calls `work`, which must not throw, with each that was added when the event loop has dealt with everything that
 * arrived up to now; `onFirst` when something is added for the end of a turn.
 */
export function createAtEndOfTurn<Item>(work: (item: Item) => void, onFirst = () => {}): AtEndOfTurn<Item> {
  let items: Item[] = []

  function run(): void {
    const now = items
    items = []
    for (const item of now) work(item)
  }

  const last = () => void setImmediate(run)
  return {
    add(item) {
      if (items.push(item) > 1) return
      last()
      onFirst()
    },
    last,
  }
}
