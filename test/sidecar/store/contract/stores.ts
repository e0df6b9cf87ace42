import type { Store, StoreSettings } from '../../../../sidecar/messages/store.ts'

/**
 * What a contract suite asks of a kind of store, whose time may be another's than the test's. Everything is for the
 * test that runs: what it opened is closed after it, and what was stored is gone.
 */
export interface ContractStores {
  /** Opens a store over what those before it in this test have left. */
  open(settings?: Partial<StoreSettings>): Promise<Store>
  /** Takes away what was stored in this test so far. No store is to be open. */
  wipe(): Promise<void>
  /**
   * Of stores that are files: takes down what a crash at this moment would leave. What it returns puts that in the
   * place of what there is, while no store is open.
   */
  crash?(): () => Promise<void>
  /** What stores take for the time now, in milliseconds since 1970. */
  now(): number
  /** Steps that time, and has as much of it go by where that is forwards. */
  shift(ms: number): Promise<void>
  /** The lines that stores have logged. */
  readonly lines: readonly Readonly<Record<string, unknown>>[]
}
