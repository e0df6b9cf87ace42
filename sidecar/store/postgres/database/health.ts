import type { Clock, Timer } from '../../../clock.ts'
import type { StoreError, StoreErrorCode } from '../../../errors.ts'
import type { Log } from '../../../log.ts'
import { REFUSALS, toStoreError } from './postgres-error.ts'

const RETRY_MS = 1000

/** Error codes that mean a fault of the database rather than of a statement. */
const FAULTS: ReadonlySet<StoreErrorCode> = new Set([
  ...REFUSALS,
  'database_unreachable',
  'database_untrusted',
  'database_read_only',
  'database_older',
  'database_pooled',
  'database_incomplete',
  'database_corrupt',
  'disk_full',
  'disk_failing',
])

interface HealthParts {
  /** Stores a message and rolls it back. Rejects if the database cannot store it. */
  readonly tryToStore: () => Promise<void>
  /** Called after a successful probe. Never rejects. */
  readonly onSound: () => Promise<void>
  /**
   * Called when the database has a fault or is about to be probed, because another host may have become the primary.
   */
  readonly onDoubt: () => void
  readonly clock: Clock
  readonly log: Log
}

/**
 * Tracks whether the database works.
 *
 * It is sound until a statement fails because of it, and then faulty until a probe succeeds. Each error code is logged
 * once per outage, because the cause may alternate.
 *
 * After the first {@link probe}, a faulty database is probed each second. Before that, the tables may not exist. After
 * {@link close}, nothing is recorded, logged or scheduled.
 */
export class Health {
  readonly #parts: HealthParts
  #fault: StoreErrorCode | undefined
  readonly #logged = new Set<StoreErrorCode>()
  #isWatched = false
  #planned: Timer | undefined
  #probing: Promise<void> | undefined
  #isClosed = false

  constructor(parts: HealthParts) {
    this.#parts = parts
  }

  /** The fault of the database; undefined if it is sound. */
  get fault(): StoreErrorCode | undefined {
    return this.#fault
  }

  /** Records an error if its code means a fault of the database. */
  noteIfFault(error: StoreError): void {
    if (FAULTS.has(error.code)) this.note(error)
  }

  /** Records a fault of the database. If `error` is undefined, records that the database works. */
  note(error: StoreError | undefined): void {
    if (this.#isClosed) return
    const { log, onDoubt } = this.#parts
    if (error) {
      this.#planProbe()
      onDoubt()
      if (!this.#logged.has(error.code))
        log.error('store-write-failed', `${error.message} ${error.remedy} The sidecar retries by itself.`, { error })
      this.#logged.add(error.code)
    } else {
      if (this.#fault) log.info('store-write-recovered', 'Writing to the database works again.', { after: this.#fault })
      this.#logged.clear()
    }
    this.#fault = error?.code
  }

  /** Tests whether messages can be stored now. Concurrent calls share a probe. Never rejects. */
  probe(): Promise<void> {
    this.#isWatched = true
    this.#parts.onDoubt()
    // Each probe needs a connection, and may wait long.
    this.#probing ??= this.#tryToStore().finally(() => {
      this.#probing = undefined
      if (this.#fault !== undefined) this.#planProbe()
    })
    return this.#probing
  }

  close(): void {
    this.#isClosed = true
    this.#planned?.cancel()
  }

  #planProbe(): void {
    // A probe in progress schedules the next one when it ends.
    if (!this.#isWatched || this.#isClosed || this.#probing !== undefined) return
    this.#planned ??= this.#parts.clock.after(RETRY_MS, () => {
      this.#planned = undefined
      void this.probe()
    })
  }

  async #tryToStore(): Promise<void> {
    try {
      await this.#parts.tryToStore()
      this.note(undefined)
      await this.#parts.onSound()
    } catch (error) {
      // The probe's statement is valid, so any error is a fault of the database.
      this.note(toStoreError(error))
    }
  }
}
