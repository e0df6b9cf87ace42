/**
 * Shares the work of listing what a store holds, which costs it everything that it has. Whoever asks gets a list that was begun after
 * the question; all that ask while one is being made share the next. So however many logouts come at once, one list is made at a time.
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

/**
 * Which sessions to delete from a store that cannot list its own. Bounded: beyond that the oldest are forgotten, and end by the
 * revocation alone.
 */
interface SessionIndex {
  add(id: string, keys: readonly string[]): void
  remove(id: string): void
  /** Ids of the sessions that have one of the keys. */
  find(keys: readonly string[]): readonly string[]
}

export function createSessionIndex(most = 10_000): SessionIndex {
  const sessions = new Map<string, readonly string[]>()
  return {
    add(id, keys) {
      sessions.set(id, keys)
      for (const oldest of sessions.keys()) {
        if (sessions.size <= most) break
        sessions.delete(oldest)
      }
    },
    remove: (id) => void sessions.delete(id),
    find: (keys) => [...sessions].filter(([, own]) => own.some((key) => keys.includes(key))).map(([id]) => id),
  }
}
