/** Duration of a lease in milliseconds. Its holder renews it several times in that time. */
export const LEASE_MS = 6000

/** Leases among the processes that share a store. One process at a time holds each. An exclusive store grants all. */
export interface Leases {
  /**
   * For {@link LEASE_MS}, leases those of `names` that no other process holds, and renews those of this process.
   * Resolves with the names that this process holds now. Other processes can read `note`.
   *
   * This process takes over an expired lease only after {@link LEASE_MS} of uninterrupted contact with the store. So
   * after an outage of the store, the former holder can renew its lease first.
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
  /** Publishes `note` to other processes, which read it as {@link Instance.note}. */
  publishNote(note: string): void
}

export interface Instance {
  readonly name: string
  /** Wall-clock time in milliseconds since 1970. */
  readonly startedAt: number
  /** The JSON that the process last published about itself; empty if it has published none. */
  readonly note: string
}
