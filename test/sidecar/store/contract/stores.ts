import type { Store, StoreSettings } from '../../../../sidecar/messages/store.ts'

/**
 * The functions of one kind of store that a contract suite needs. The store's time may be independent of the test's.
 * Everything belongs to the running test: stores are closed after it, and data is removed.
 */
export interface ContractStores {
  /** Opens a store on the data that earlier stores of this test have left. */
  open(settings?: Partial<StoreSettings>): Promise<Store>
  /** Takes away what was stored in this test so far. No store is to be open. */
  wipe(): Promise<void>
  /**
   * For stores in files: copies what a crash at this moment would leave. The returned function restores the copy while
   * no store is open.
   */
  crash?(): () => Promise<void>
  /** Current time of stores, in milliseconds since 1970. */
  now(): number
  /** Changes the stores' time by `ms`. A step forwards also lets timers become due. */
  shift(ms: number): Promise<void>
  /** The lines that stores have logged. */
  readonly lines: readonly Readonly<Record<string, unknown>>[]
}
