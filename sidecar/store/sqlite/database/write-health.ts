import type { Clock, Timer } from '../../../clock.ts'
import type { StoreError, StoreErrorCode } from '../../../errors.ts'
import type { Log } from '../../../log.ts'

// Without incoming messages, nothing else would find out that the disk has room again.
const PROBE_EVERY_MS = 5000

interface WriteHealthParts {
  /** Starts a write that changes next to nothing. */
  readonly probe: () => void
  readonly clock: Clock
  readonly log: Log
}

/**
 * Whether writes to the file succeed: sound after a transaction that was committed, faulty after one that failed. Both
 * changes are logged, and so is another cause. While faulty, a probe runs every 5 s. After {@link close}, no probe is
 * planned.
 */
export class WriteHealth {
  readonly #parts: WriteHealthParts
  #fault: StoreErrorCode | undefined
  #planned: Timer | undefined
  #isClosed = false

  constructor(parts: WriteHealthParts) {
    this.#parts = parts
  }

  /** Why the last transaction failed; undefined if it was committed. */
  get fault(): StoreErrorCode | undefined {
    return this.#fault
  }

  /** Notes the outcome of a transaction: its error, or undefined if it was committed. */
  note(error: StoreError | undefined): void {
    const { clock, log } = this.#parts
    if (error && !this.#isClosed) this.#planned ??= clock.after(PROBE_EVERY_MS, () => this.#probe())
    if (error?.code === this.#fault) return
    if (error) log.error('store-write-failed', `${error.message} ${error.remedy}`, { error })
    else log.info('store-write-recovered', 'Writing to the database works again.', { after: this.#fault })
    this.#fault = error?.code
  }

  close(): void {
    this.#isClosed = true
    this.#planned?.cancel()
  }

  #probe(): void {
    this.#planned = undefined
    if (this.#fault !== undefined) this.#parts.probe()
  }
}
