/** Duration of a lease in milliseconds. Its holder renews it several times in that time. */
export const LEASE_MS = 6000

/** Leases that divide work between processes. At most one process holds each lease. An exclusive store grants all. */
export interface Leases {
  /**
   * Leases or renews each of `names` for {@link LEASE_MS}, unless another process holds it. Resolves with the names
   * that this process holds now. Others can read `note`.
   *
   * An expired lease can be taken over only after {@link LEASE_MS} of contact with the store. So after an outage, its
   * holder can renew it first.
   */
  hold(names: readonly string[], note?: string): Promise<ReadonlySet<string>>
  /** Releases the leases among `names` that this process holds, so that other processes can get them at once. */
  release(names: readonly string[]): Promise<void>
  /** Returns the current leases of all processes. */
  list(): Promise<readonly Lease[]>
}

export interface Lease {
  readonly name: string
  /** Name of the process that holds the lease. */
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
  /** Publishes `note`, JSON about this process, to other processes, which read it as {@link Instance.note}. */
  publishNote(note: string): void
}

export interface Instance {
  readonly name: string
  /** Wall-clock time in milliseconds since 1970. */
  readonly startedAt: number
  /** The JSON that the process last published about itself; empty if it has not published any. */
  readonly note: string
}
