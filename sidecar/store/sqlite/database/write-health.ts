import type { Clock, Timer } from '../../../clock.ts'
import type { StoreError, StoreErrorCode } from '../../../errors.ts'
import type { Log } from '../../../log.ts'

// Interval of probes while writes fail. If no messages arrive, only a probe can notice that the disk has space again.
const PROBE_EVERY_MS = 5000

interface WriteHealthParts {
  /** Starts a minimal write. */
  readonly probe: () => void
  readonly clock: Clock
  readonly log: Log
}

/**
 * Tracks whether the last transaction was committed. Logs the recovery and each new cause of failure. Probes a faulty
 * file every 5 s.
 */
export class WriteHealth {
  readonly #parts: WriteHealthParts
  #fault: StoreErrorCode | undefined
  #planned: Timer | undefined
  #isClosed = false

  constructor(parts: WriteHealthParts) {
    this.#parts = parts
  }

  /** The reason why the last transaction failed; undefined if it was committed. */
  get fault(): StoreErrorCode | undefined {
    return this.#fault
  }

  /** Records the outcome of a transaction: its error, or undefined if it was committed. */
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
