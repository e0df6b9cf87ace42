/**
 * Stores which sessions were revoked. Keys are digests of 43 characters that reveal nothing about a user. The store
 * must be in a database if several processes serve the same sessions, or if sessions survive a restart. A table with
 * key, `endedAt` and `until` suffices.
 */
export interface RevocationStore {
  /**
   * Revokes every session that has one of the keys and began at `endedAt` or earlier. Stores the revocation at least
   * until `until`. Both are in milliseconds since 1970. A later `endedAt` replaces an earlier one.
   */
  revoke(keys: readonly string[], endedAt: number, until: number): Promise<void>
  /**
   * Returns the latest `endedAt` of the keys, in milliseconds since 1970. Returns undefined if none of the keys is
   * revoked.
   */
  endedAt(keys: readonly string[]): Promise<number | undefined>
  /** True if all processes of the server share the store. */
  readonly isShared?: boolean
  /**
   * Returns true for the first call with a key among all processes, and false for later calls until `until`. Without
   * this method, a process detects a reused IdP answer only if the process itself received that answer before.
   *
   * @param until milliseconds since 1970
   */
  once?(key: string, until: number): Promise<boolean>
  /** Undoes a successful call of `once`, so that work that failed can be retried. */
  release?(key: string): Promise<void>
}

/** Limit of the difference between the clocks of machines that share a store, in milliseconds. */
export const MOST_SKEW_MS = 5_000

/**
 * Returns the time up to which a revocation that starts now ends sessions. With a shared store, this time lies ahead by
 * {@link MOST_SKEW_MS}. Otherwise a session that began on a machine with a fast clock would seem to begin after the
 * revocation, and would stay valid.
 */
export function endOfNow({ isShared = false }: RevocationStore, now: number): number {
  return isShared ? now + MOST_SKEW_MS : now
}
