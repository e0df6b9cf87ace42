import type { Clock } from '../../../clock.ts'
import { StoreError } from '../../../errors.ts'
import type { ServerTime } from '../../../messages/store.ts'
import type { Queries } from '../database/connection.ts'
import type { Database, Transaction, Write } from '../database/database.ts'

/** The stamps as the rest of the store takes them. */
export interface Stamps extends ServerTime {
  /** Resolves when there are stamps reserved for {@link tryIssue}. */
  ready(): Promise<void>
  /**
   * {@link issue} at once; undefined when what is reserved is used up, or while a transaction holds stamps that no cursor may be ahead
   * of and has left no more room below them.
   */
  tryIssue(): number | undefined
  /** The first of `count` consecutive stamps for rows of `tx`. Given back when that is rolled back. */
  take(tx: Transaction, count: number): Promise<number>
  /** Writes down that no stamp was issued after the newest one, so that nothing is skipped at the next start. */
  seal(tx: Transaction): Promise<void>
}

// A stamp may only be issued once the file says that stamps up to it may have been; else a crash, and a clock that is
// set back, could issue it again. So they are reserved ahead, and after a crash at most the two together are skipped.
const AHEAD_MS = 10_000
// While the disk refuses writes, nothing can be reserved; syncs are served on these, one millisecond each.
const SPARE_MS = 20_000
// A transaction leaves room below its stamps for twice as many cursors as were asked for during the last one. So syncs under load
// need not wait for the disk, and in quiet service, where one may have to, stamps are not ahead of the clock.
const MAX_ROOM_MS = 1000
const ISSUE_ATTEMPTS = 3

/**
 * Stamps are max(clock, newest + 1): the time in milliseconds, except that they never stand still and never go back.
 * A burst of more than one a millisecond runs ahead of the clock, which then catches up.
 */
export async function openServerTime(queries: Queries, database: Database, clock: Clock): Promise<Stamps> {
  const [state] = await queries.all<{ reserved: number }>('SELECT reserved_time AS reserved FROM state')
  /** No stamp above it may leave this file. Durable. */
  let reserved = state?.reserved ?? 0
  /** The newest stamp that is not to be issued again, and the newest that somebody outside may know. */
  let newest = reserved
  let known = reserved
  let diskRefuses = false
  let reserving: Promise<void> | undefined
  /** Of the transaction in progress, once it has taken stamps: those from `next` to below `end` are left free. */
  let room: { next: number; readonly end: number } | undefined
  /** How many stamps others asked for while a transaction held some. */
  let asked = 0

  const next = () => Math.max(clock.now(), newest + 1)

  /** Everything up to `stamp` is about to be issued: has the file say so, and some more. */
  async function reserve(tx: Transaction, stamp: number): Promise<void> {
    const bound = stamp + AHEAD_MS + SPARE_MS
    await tx.all('UPDATE state SET reserved_time = max(reserved_time, ?)', bound)
    tx.onCommit(() => {
      reserved = Math.max(reserved, bound)
      diskRefuses = false
    })
  }

  const reservation: Write<undefined, void> = {
    async run(tx, inputs) {
      await reserve(tx, next())
      return inputs.map(() => undefined)
    },
  }

  function reserveMore(): Promise<void> {
    reserving ??= database.write(reservation, undefined).finally(() => {
      reserving = undefined
    })
    return reserving
  }

  function tryIssue(): number | undefined {
    if (!room) return above()
    asked += 1
    return below(room)
  }

  /** A stamp that is newer than all others. */
  function above(): number | undefined {
    const spare = diskRefuses && next() > reserved - SPARE_MS
    const stamp = spare ? newest + 1 : next()
    if (stamp > (spare ? reserved : reserved - SPARE_MS)) return undefined
    newest = stamp
    return issued(stamp)
  }

  /** A stamp that is newer than all others but those of the transaction in progress. */
  function below(free: NonNullable<typeof room>): number | undefined {
    const stamp = free.next
    // Those above them were asked for when there was no room any more, and only grow from there.
    if (stamp <= known || stamp >= free.end || stamp > (diskRefuses ? reserved : reserved - SPARE_MS)) return undefined
    free.next += 1
    return issued(stamp)
  }

  function issued(stamp: number): number {
    // Early enough that in steady traffic nobody ever waits for it. A failure shows when it is used up.
    if (stamp > reserved - SPARE_MS - AHEAD_MS / 2) reserveMore().catch(() => undefined)
    known = stamp
    return stamp
  }

  async function ready(): Promise<void> {
    if (!diskRefuses && next() <= reserved - SPARE_MS) return
    try {
      await reserveMore()
    } catch (error) {
      diskRefuses = true
      if (newest + 1 > reserved) throw error
    }
  }

  /** The first stamp for a transaction that has none yet. */
  function leaveRoom(): number {
    const free = next()
    const end = free + Math.min(MAX_ROOM_MS, 2 * asked)
    room = { next: free, end }
    asked = 0
    return end
  }

  return {
    ready,
    tryIssue,
    async issue() {
      database.assertOpen()
      // A reservation that is under way was made for the clock of its beginning: a step forward since then takes another one.
      let stamp = tryIssue()
      for (let attempt = 0; attempt < ISSUE_ATTEMPTS && stamp === undefined; attempt += 1) {
        await ready()
        // Reads come when no transaction is in progress.
        stamp = await database.read(async () => tryIssue())
      }
      // Each time, ten seconds' worth of stamps went while it was being reserved.
      if (stamp === undefined) throw new StoreError('store_overloaded')
      return stamp
    },
    async take(tx, count) {
      const first = room ? next() : leaveRoom()
      const top = first + count - 1
      newest = top // before anything is awaited, so that nobody else issues one of them
      tx.onCommit(() => {
        known = Math.max(known, top)
        room = undefined
      })
      // Nobody saw them, and this is the only transaction. Kept, a full disk would burn stamps at each try.
      tx.onRollback(() => {
        newest = known
        room = undefined
      })
      if (top > reserved - SPARE_MS) await reserve(tx, top)
      return first
    },
    async seal(tx) {
      await tx.all('UPDATE state SET reserved_time = ?', newest)
    },
  }
}
