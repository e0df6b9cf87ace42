import type { Clock } from '../../../clock.ts'
import { StoreError } from '../../../errors.ts'
import type { Stamps } from '../../../messages/store.ts'
import type { Queries } from '../database/connection.ts'
import type { Database, Transaction, Write } from '../database/database.ts'

/** The stamps as the rest of the store takes them. */
export interface StampSequence extends Stamps {
  /** No stamp above it was issued. */
  readonly newest: number
  /**
   * The first of `count` consecutive stamps for rows of `tx`, which has to {@link cover} them. Given back when that is
   * rolled back.
   */
  take(tx: Transaction, count: number): number
  /** Has the file say, with `tx`, that what was taken was issued. */
  cover(tx: Transaction): Promise<void>
  /** Writes down that no stamp was issued after the newest one, so that nothing is skipped at the next start. */
  seal(tx: Transaction): Promise<void>
}

// A stamp may only be issued once the file says that stamps up to it may have been; else a crash, and a clock that is
// set back, could issue it again. So they are reserved ahead, and after a crash at most so many are skipped.
const AHEAD_MS = 10_000
const ISSUE_ATTEMPTS = 3

/**
 * Stamps are max(clock, newest + 1): the time in milliseconds, except that they never stand still and never go back.
 * A burst of more than one a millisecond runs ahead of the clock, which then catches up.
 */
export async function openServerTime(queries: Queries, database: Database, clock: Clock): Promise<StampSequence> {
  const [state] = await queries.all<{ reserved: number }>('SELECT reserved_time AS reserved FROM state')
  /** No stamp above it may leave this file. Durable. */
  let reserved = state?.reserved ?? 0
  let newest = reserved
  let reserving: Promise<void> | undefined

  const next = () => Math.max(clock.now(), newest + 1)

  async function reserve(tx: Transaction): Promise<void> {
    const bound = next() + AHEAD_MS
    await tx.all('UPDATE state SET reserved_time = max(reserved_time, ?)', bound)
    tx.onCommit(() => {
      reserved = Math.max(reserved, bound)
    })
  }

  const reservation: Write<undefined, void> = {
    async run(tx, inputs) {
      await reserve(tx)
      return inputs.map(() => undefined)
    },
  }

  /** Undefined when what is reserved is used up. */
  function tryIssue(): number | undefined {
    const stamp = next()
    if (stamp > reserved) return undefined
    newest = stamp
    return stamp
  }

  return {
    get newest() {
      return newest
    },
    async issue() {
      database.assertOpen()
      for (let attempt = 0; attempt < ISSUE_ATTEMPTS; attempt += 1) {
        const stamp = tryIssue()
        if (stamp !== undefined) return stamp
        reserving ??= database.write(reservation, undefined).finally(() => {
          reserving = undefined
        })
        await reserving
      }
      // Each time, ten seconds' worth of stamps went while it was being reserved.
      throw new StoreError('store_overloaded')
    },
    take(tx, count) {
      const before = newest
      const first = next()
      const top = first + count - 1
      newest = top
      // Kept, a full disk would burn stamps at each try.
      tx.onRollback(() => {
        if (newest === top) newest = before
      })
      return first
    },
    async cover(tx) {
      if (newest > reserved) await reserve(tx)
    },
    async seal(tx) {
      await tx.all('UPDATE state SET reserved_time = ?', newest)
    },
  }
}
