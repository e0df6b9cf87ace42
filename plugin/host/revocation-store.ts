/**
 * Stores revocations of sessions. Keys are digests of 43 characters that reveal no user. Several processes, or sessions
 * that survive restarts, need a database table: key, `endedAt` and `until`.
 */
export interface RevocationStore {
  /**
   * Revokes sessions with one of the keys that began at `endedAt` or earlier, at least until `until` (milliseconds
   * since 1970). A later `endedAt` replaces an earlier one.
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
   * Returns true for the first call with a key among all processes, then false until `until`. Without it, each process
   * detects only reused answers that it received itself.
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
 * Returns the time up to which a revocation ends sessions. In a shared store, it is {@link MOST_SKEW_MS} ahead, because
 * another machine's clock may be fast.
 */
export function endOfNow({ isShared = false }: RevocationStore, now: number): number {
  return isShared ? now + MOST_SKEW_MS : now
}
