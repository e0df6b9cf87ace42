/**
 * Shares listings of a session store, because each reads the whole store. Each caller gets one that began after its
 * call. Callers during a listing share the next one.
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
