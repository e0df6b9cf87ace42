/**
 * Shares listings of a session store among callers, because a listing reads the whole store. Each caller gets a listing
 * that began after its call. Callers that arrive during a listing share the next listing. So only one listing runs at a
 * time, however many logouts arrive.
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
