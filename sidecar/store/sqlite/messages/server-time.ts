import type { Clock } from '../../../clock.ts'
import { StoreError } from '../../../errors.ts'
import type { Stamps } from '../../../messages/store.ts'
import type { Queries } from '../database/connection.ts'
import type { Database, Transaction, Write } from '../database/database.ts'

/** The stamps as the rest of the store uses them. */
export interface StampSequence extends Stamps {
  /** The newest stamp that was issued, or that may have been before the start. */
  readonly newest: number
  /**
   * Takes `count` consecutive stamps for rows of `tx`, which must {@link cover} them. Returns the first. A rollback of
   * `tx` returns them to the sequence.
   */
  take(tx: Transaction, count: number): number
  /** Makes sure that the stamps which `tx` took are reserved in the file. */
  cover(tx: Transaction): Promise<void>
  /** Cancels the unused part of the reservation, so that the next start continues right after the newest stamp. */
  seal(tx: Transaction): Promise<void>
}

// How far ahead stamps are reserved. A crash skips at most this many.
const AHEAD_MS = 10_000
const ISSUE_ATTEMPTS = 3

/** Opens the sequence after the stamps that the file has reserved. */
export async function openServerTime(queries: Queries, database: Database, clock: Clock): Promise<StampSequence> {
  const [state] = await queries.all<{ reserved: number }>('SELECT reserved_time AS reserved FROM state')
  return new ReservedStamps(state?.reserved ?? 0, database, clock)
}

/**
 * Stamps are max(clock, newest + 1): the time in milliseconds, except that they never stand still and never go back. A
 * burst of more than one a millisecond runs ahead of the clock, which then catches up.
 *
 * A stamp is issued only after it was reserved in the file. Otherwise it could be issued again after a crash, if the
 * clock is set back. So stamps are reserved ahead: `#newest` moves up to `#reserved`, and then a write reserves the
 * next ones. Callers share a reservation in progress.
 *
 * Public members are bound, because callers pass them on.
 */
class ReservedStamps implements StampSequence {
  readonly #database: Database
  readonly #clock: Clock
  /** The newest reserved stamp, as in the file. No later stamp may be issued. */
  #reserved: number
  #newest: number
  #reserving: Promise<void> | undefined

  constructor(reserved: number, database: Database, clock: Clock) {
    this.#reserved = reserved
    this.#newest = reserved
    this.#database = database
    this.#clock = clock
  }

  get newest(): number {
    return this.#newest
  }

  readonly issue = async (): Promise<number> => {
    this.#database.assertOpen()
    for (let attempt = 0; attempt < ISSUE_ATTEMPTS; attempt += 1) {
      const stamp = this.#tryIssue()
      if (stamp !== undefined) return stamp
      this.#reserving ??= this.#database.write(this.#reservation, undefined).finally(() => {
        this.#reserving = undefined
      })
      await this.#reserving
    }
    // Each time, ten seconds' worth of stamps were issued during the reservation.
    throw new StoreError('store_overloaded')
  }

  readonly take = (tx: Transaction, count: number): number => {
    const former = this.#newest
    const first = this.#next()
    const top = first + count - 1
    this.#newest = top
    // Without this, each failed try on a full disk would use up stamps.
    tx.onRollback(() => {
      if (this.#newest === top) this.#newest = former
    })
    return first
  }

  readonly cover = async (tx: Transaction): Promise<void> => {
    if (this.#newest > this.#reserved) await this.#reserve(tx)
  }

  readonly seal = async (tx: Transaction): Promise<void> => {
    await tx.all('UPDATE state SET reserved_time = ?', this.#newest)
  }

  #next(): number {
    return Math.max(this.#clock.now(), this.#newest + 1)
  }

  /** Returns undefined if the reserved stamps are used up. */
  #tryIssue(): number | undefined {
    const stamp = this.#next()
    if (stamp > this.#reserved) return undefined
    this.#newest = stamp
    return stamp
  }

  async #reserve(tx: Transaction): Promise<void> {
    const bound = this.#next() + AHEAD_MS
    await tx.all('UPDATE state SET reserved_time = max(reserved_time, ?)', bound)
    tx.onCommit(() => {
      this.#reserved = Math.max(this.#reserved, bound)
    })
  }

  readonly #reservation: Write<undefined, void> = {
    run: async (tx, inputs) => {
      await this.#reserve(tx)
      return inputs.map(() => undefined)
    },
  }
}
