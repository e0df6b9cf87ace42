/** Duration of a lease in milliseconds. Its holder renews it several times within this. */
export const LEASE_MS = 6000

/** Leases that one process at a time holds, of those that share a store. An exclusive store grants all of them. */
export interface Leases {
  /**
   * Leases those of `names` that no other process holds, and renews those that this process holds, for
   * {@link LEASE_MS}. Resolves with the names that this process holds now. Other processes can read `note`.
   *
   * An expired lease of another process is taken only after this process has been in touch with the store for
   * {@link LEASE_MS} without a break. So after an outage of the store, the holder can renew its lease first.
   */
  hold(names: readonly string[], note?: string): Promise<ReadonlySet<string>>
  /** Releases those of `names` that this process holds, so that others can lease them at once. */
  release(names: readonly string[]): Promise<void>
  /** Returns all leases that are held now, by any process. */
  list(): Promise<readonly Lease[]>
}

export interface Lease {
  readonly name: string
  /** Name of the holder. */
  readonly instance: string
  readonly note: string
  readonly mine: boolean
}

/** The processes that share a store. */
export interface Instances {
  /** The name of this process. */
  readonly name: string
  /** Returns the processes that were seen within the last {@link LEASE_MS}, this one included, sorted by name. */
  list(): Promise<readonly Instance[]>
  /** Sets what other processes read of this one in {@link Instance.note}. */
  publishNote(note: string): void
}

export interface Instance {
  readonly name: string
  /** Wall-clock time in milliseconds since 1970. */
  readonly startedAt: number
  /** JSON that the process published about itself; empty before the first. */
  readonly note: string
}
