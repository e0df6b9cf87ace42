import type { Clock, Timer } from '../../../clock.ts'
import type { StoreError, StoreErrorCode } from '../../../errors.ts'
import type { Log } from '../../../log.ts'
import { REFUSALS, toStoreError } from './postgres-error.ts'

const RETRY_MS = 1000

/** Errors that are faults of the database, not of a statement. */
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
  /** Stores a message, and undoes it. Rejects if that fails. */
  readonly tryToStore: () => Promise<void>
  /** A probe succeeded. Never rejects. */
  readonly onSound: () => Promise<void>
  /** The database has a fault, or is about to be probed: the primary may be another host now. */
  readonly onDoubt: () => void
  readonly clock: Clock
  readonly log: Log
}

/**
 * Whether the database works.
 *
 * It is sound until a statement fails for a fault of the database, and faulty until a probe succeeds. Each code is
 * logged once while the database is faulty, because causes may alternate; the recovery is logged too.
 *
 * The first {@link probe} begins the watch: before it, there may be no tables to write to. From then on, a faulty
 * database is probed each second. Only one probe runs at a time, because each may wait for long and needs a connection.
 * After {@link close}, nothing is noted, logged or planned.
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

  /** Notes an error if it is a fault of the database. */
  noteIfFault(error: StoreError): void {
    if (FAULTS.has(error.code)) this.note(error)
  }

  /** Notes the fault of the database; undefined if it works. */
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

  /** Finds out whether messages can be stored now. Callers share a probe in progress. Never rejects. */
  probe(): Promise<void> {
    this.#isWatched = true
    this.#parts.onDoubt()
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
    // A probe in progress plans the next one at its end.
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
      // The statement is ours, so any error is a fault of the database.
      this.note(toStoreError(error))
    }
  }
}
