/**
 * Which sessions to delete from a store that cannot list its own. Bounded: beyond that the oldest are forgotten, and end by the
 * revocation alone.
 */
export interface SessionIndex {
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
