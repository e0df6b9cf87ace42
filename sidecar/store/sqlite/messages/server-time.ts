import type { Clock } from '../../../clock.ts'
import { StoreError } from '../../../errors.ts'
import type { Stamps } from '../../../messages/store.ts'
import type { Queries } from '../database/connection.ts'
import type { Database, Transaction, Write } from '../database/database.ts'

/** The interface of the sequence of stamps for other modules of the store. */
export interface StampSequence extends Stamps {
  /** The newest stamp that was issued, or that may have been issued before the start. */
  readonly newest: number
  /** Takes `count` consecutive stamps for rows of `tx`, which must then call {@link cover}. Returns the first. */
  take(tx: Transaction, count: number): number
  /** Ensures that the stamps taken by `tx` are reserved in the file. */
  cover(tx: Transaction): Promise<void>
  /** Gives up the unused part of the reservation, so that the next start continues right after the newest stamp. */
  seal(tx: Transaction): Promise<void>
}

// Number of stamps that a write reserves beyond the newest one. A crash skips at most this many stamps.
const AHEAD_MS = 10_000
const ISSUE_ATTEMPTS = 3

/** Opens the sequence. It continues after the stamps that the file has reserved. */
export async function openServerTime(queries: Queries, database: Database, clock: Clock): Promise<StampSequence> {
  const [state] = await queries.all<{ reserved: number }>('SELECT reserved_time AS reserved FROM state')
  return new ReservedStamps(state?.reserved ?? 0, database, clock)
}

/**
 * Issues stamps of max(clock, newest + 1), in milliseconds. They may run ahead of the clock, which later catches up.
 *
 * A stamp is issued only after the file has reserved it. Otherwise it could be issued again if the clock is set back
 * after a crash. Once `#newest` reaches `#reserved`, a write reserves more. Callers share it.
 *
 * Public methods are arrow functions, because callers pass them on as plain functions.
 */
class ReservedStamps implements StampSequence {
  readonly #database: Database
  readonly #clock: Clock
  /** The highest stamp reserved in the file. No higher stamp may be issued. */
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
    // At each attempt, other callers used up all stamps that the write had reserved.
    throw new StoreError('store_overloaded')
  }

  readonly take = (tx: Transaction, count: number): number => {
    const former = this.#newest
    const first = this.#next()
    const top = first + count - 1
    this.#newest = top
    // A rollback makes the stamps available again. Otherwise each failed write on a full disk would use up stamps.
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

  /** Issues a stamp that is already reserved. Returns undefined if all reserved ones are used up. */
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
