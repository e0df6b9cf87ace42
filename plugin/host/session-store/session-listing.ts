/**
 * Shares the work of listing what a store holds, which costs it everything that it has. Whoever asks gets a list that
 * was begun after the question; all that ask while one is being made share the next. So however many logouts come at
 * once, one list is made at a time.
 */
export function sharedListing<Entry>(list: () => Promise<readonly Entry[]>): () => Promise<readonly Entry[]> {
  let current: Promise<readonly Entry[]> | undefined
  let next: Promise<readonly Entry[]> | undefined

  function begin(): Promise<readonly Entry[]> {
    const listing = list().finally(() => {
      current = undefined
    })
    current = listing
    return listing
  }

  return () => {
    if (!current) return begin()
    next ??= current
      .catch(() => undefined)
      .then(() => {
        next = undefined
        return begin()
      })
    return next
  }
}
