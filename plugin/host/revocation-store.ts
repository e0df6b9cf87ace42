/**
 * Remembers which sessions were ended from outside. Keys are digests of 43 characters and tell nothing of a person.
 * Where several processes serve the same sessions, or sessions outlive a restart, a server keeps these in its database:
 * a table of key, `endedAt` and `until`.
 */
export interface RevocationStore {
  /**
   * Remembers, at least until then, that what bears one of the keys ended. A later `endedAt` wins over an earlier one.
   */
  revoke(keys: readonly string[], endedAt: number, until: number): Promise<void>
  /** The latest `endedAt` of all that is remembered under the keys, in milliseconds since 1970. */
  endedAt(keys: readonly string[]): Promise<number | undefined>
  /** True: all processes of the server see the same. */
  readonly isShared?: boolean
  /**
   * Says true to the first call with a key, of whichever process, and false to all others until then. Absent: each
   * process knows for itself alone which answers of an IdP it has used.
   *
   * @param until milliseconds since 1970
   */
  once?(key: string, until: number): Promise<boolean>
  /** Takes a call of `once` back that said true: what it was for has failed, and may come again. */
  release?(key: string): Promise<void>
}

/** How far the clocks of machines that share a store may be apart. */
export const MOST_SKEW_MS = 5_000

/**
 * The time to end something at. By the clock of another machine, which may be ahead, its login can have begun later
 * than now: it would outlive its end.
 */
export function endOfNow({ isShared = false }: RevocationStore, now: number): number {
  return isShared ? now + MOST_SKEW_MS : now
}
