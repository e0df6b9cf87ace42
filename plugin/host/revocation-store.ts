/**
 * Stores which sessions were revoked. Keys are digests of 43 characters that reveal nothing about a user. If several
 * processes serve the same sessions, or if sessions survive a restart, the server keeps revocations in its database: a
 * table of key, `endedAt` and `until`.
 */
export interface RevocationStore {
  /** Revokes every session with one of the keys, at least until `until`. A later `endedAt` replaces an earlier one. */
  revoke(keys: readonly string[], endedAt: number, until: number): Promise<void>
  /** Returns the latest `endedAt` of the keys, in milliseconds since 1970. Undefined: none of the keys is revoked. */
  endedAt(keys: readonly string[]): Promise<number | undefined>
  /** True if all processes of the server share the store. */
  readonly isShared?: boolean
  /**
   * Returns true for the first call with a key among all processes, and false for later calls until `until`. Absent:
   * each process detects only the reuse of IdP answers that it received itself.
   *
   * @param until milliseconds since 1970
   */
  once?(key: string, until: number): Promise<boolean>
  /** Undoes a successful call of `once`, because the work behind it failed and may be retried. */
  release?(key: string): Promise<void>
}

/** Limit of the difference between the clocks of machines that share a store. Milliseconds. */
export const MOST_SKEW_MS = 5_000

/**
 * Returns the time for a revocation that starts now. With a shared store, it lies {@link MOST_SKEW_MS} ahead. Otherwise
 * a login on a machine with a clock that is ahead would seem to begin after the revocation and would outlive it.
 */
export function endOfNow({ isShared = false }: RevocationStore, now: number): number {
  return isShared ? now + MOST_SKEW_MS : now
}
