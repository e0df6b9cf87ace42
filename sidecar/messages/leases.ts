/** For how long a lease is given, in milliseconds: whoever holds one renews it several times within that. */
export const LEASE_MS = 6000

/** Rights that one process has at a time, of those that share a store. Where one has it for itself, all are granted. */
export interface Leases {
  /**
   * Takes those of `names` that nobody else holds, and renews those that this process holds, all for {@link LEASE_MS};
   * resolves with the ones that it holds now. `note` is for others to see. What somebody else held and did not renew in
   * time is taken only after this process has been in touch with the store for {@link LEASE_MS} without a break: when
   * the store was away, its holder comes first.
   */
  hold(names: readonly string[], note?: string): Promise<ReadonlySet<string>>
  /** Lets others have them at once. Those that it does not hold are left alone. */
  release(names: readonly string[]): Promise<void>
  /** All that are held by anybody now. */
  list(): Promise<readonly Lease[]>
}

export interface Lease {
  readonly name: string
  /** Who holds it. */
  readonly instance: string
  readonly note: string
  readonly mine: boolean
}

/** The processes that share a store. */
export interface Instances {
  /** What this one is called. */
  readonly name: string
  /** Those that were seen in the last {@link LEASE_MS}, this one included, by name. */
  list(): Promise<readonly Instance[]>
  /** What others see of this one from now on, as {@link Instance.note}. */
  publishNote(note: string): void
}

export interface Instance {
  readonly name: string
  /** Clock time in milliseconds. */
  readonly startedAt: number
  /** JSON that it says of itself; empty before it said anything. */
  readonly note: string
}
