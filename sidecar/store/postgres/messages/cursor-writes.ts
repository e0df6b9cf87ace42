import type { Clock, Timer } from '../../../clock.ts'
import type { StationKey } from '../../../messages/store.ts'
import type { Queries } from '../database/connection.ts'
import { beginWrite, endWrite, failWrite, mustBeTakenBack, type Position } from './cursor-position.ts'
import type { Reader } from './reader.ts'

// What a crash takes back: a phone then gets an older stamp than it has, which is as safe, and which it does not store.
const WRITE_AFTER_MS = 10_000
const STATEMENT_ROWS = 1000

// Sorted, as whoever else locks several of these rows does. What was written too early is taken back only where nothing newer stands.
const WRITE = `
  UPDATE station SET
    asked = greatest(station.asked, position.asked),
    seen = CASE WHEN station.seen <= position.withdrawn THEN position.seen ELSE greatest(station.seen, position.seen) END
  FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
      AS position (key, registered_at, asked, seen, withdrawn)
    JOIN (SELECT key FROM station WHERE key = ANY ($1) ORDER BY key FOR NO KEY UPDATE) AS locked USING (key)
  WHERE station.key = position.key AND station.registered_at = position.registered_at
  RETURNING station.key, station.seen`

interface CursorWritesParts {
  readonly database: Queries
  readonly reader: Pick<Reader, 'begun'>
  readonly clock: Clock
}

/** Writes positions down, of each one write at a time: of two, nobody could say which the database has had last. */
export interface CursorWrites {
  /** It is written once the loss of what has just changed it would have shown. */
  changed(position: Position): void
  /** It is written now, or when the write of it that is under way has ended. */
  takeBack(position: Position): void
  /** It is not written yet, or not known to be. */
  has(position: Position): boolean
  /** Writes down what is not written yet, but for what answers have just brought. */
  seal(): Promise<void>
}

export function openCursorWrites({ database, reader, clock }: CursorWritesParts): CursorWrites {
  // Since when, in elapsed milliseconds.
  const unwritten = new Map<Position, number>()
  // None of them rejects.
  const underWay = new Map<Position, Promise<void>>()
  let writing: Timer | undefined
  let sealed = false

  function changed(position: Position): void {
    unwritten.set(position, clock.elapsed())
    planWrite()
  }

  function planWrite(): void {
    if (!sealed) writing ??= clock.after(WRITE_AFTER_MS, () => void writeOld())
  }

  /** Not what an answer has just brought: its loss may not have shown yet, and at other instances a phone would skip by it. */
  async function writeOld(): Promise<void> {
    writing = undefined
    // Nor does what was lost show at once, where this process stood still: what arrived meanwhile is read behind the timers.
    await new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))
    await write(oldOnes())
    if (unwritten.size > 0) planWrite()
  }

  /** Those that may be written, and those that must be: what was written of an answer that was lost is to be taken back. */
  function oldOnes(): readonly Position[] {
    const until = clock.elapsed() - WRITE_AFTER_MS
    return [...unwritten].flatMap(([position, since]) =>
      since <= until || mustBeTakenBack(position) ? [position] : [],
    )
  }

  /** Those of `positions` that still are to be written, and are not under way. */
  async function write(positions: readonly Position[]): Promise<void> {
    for (let start = 0; start < positions.length; start += STATEMENT_ROWS) {
      const slice = positions
        .slice(start, start + STATEMENT_ROWS)
        .filter((position) => unwritten.has(position) && !underWay.has(position))
      if (slice.length === 0) continue
      const done = writeSlice(slice).finally(() => {
        for (const position of slice) underWay.delete(position)
      })
      for (const position of slice) underWay.set(position, done)
      await done
    }
  }

  async function writeSlice(slice: readonly Position[]): Promise<void> {
    for (const position of slice) unwritten.delete(position)
    const rows = slice.map(beginWrite)
    try {
      const written = await database.query<{ key: StationKey; seen: number }>(WRITE, [
        rows.map(({ position }) => position.key),
        rows.map(({ position }) => position.registeredAt),
        rows.map(({ asked }) => asked),
        rows.map(({ seen }) => seen),
        rows.map(({ withdrawn }) => withdrawn),
      ])
      const seen = new Map(written.map((row) => [row.key, row.seen]))
      for (const row of rows) endWrite(row, seen.get(row.position.key), reader.begun)
    } catch {
      for (const row of rows) {
        failWrite(row, reader.begun)
        changed(row.position)
      }
    }
  }

  async function takeBack(position: Position): Promise<void> {
    unwritten.set(position, clock.elapsed())
    for (let before = underWay.get(position); before; before = underWay.get(position)) await before
    await write([position])
  }

  return {
    changed,
    takeBack: (position) => void takeBack(position),
    has: (position) => unwritten.has(position) || underWay.has(position),
    async seal() {
      sealed = true
      writing?.cancel()
      await Promise.all(underWay.values())
      await write(oldOnes())
      // Of those that were waiting for the first ones.
      await Promise.all(underWay.values())
    },
  }
}
