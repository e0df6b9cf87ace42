/**
 * Shares lists of a store's content, because a list costs the store as much as it holds. Each caller gets a list that
 * began after its call. Callers that arrive while a list is being read share the next one. So only one list is read at
 * a time, however many logouts arrive.
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
