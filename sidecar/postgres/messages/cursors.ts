import type { Clock, Timer } from '../../clock.ts'
import type { Cursors, StationKey } from '../../messages/store.ts'
import type { Queries } from '../database/connection.ts'
import type { Reader, Reading } from './reader.ts'

// What a crash takes back: a phone then gets an older stamp than it has, which is as safe, and which it does not store.
const WRITE_AFTER_MS = 10_000
const STATEMENT_ROWS = 1000
/** Beyond it those that were asked for the longest ago are forgotten, once written. */
const MOST_POSITIONS = 50_000

// Sorted, as whoever else locks several of these rows does. What was written too early is taken back only where it still stands.
const WRITE = `
  UPDATE station SET
    asked = greatest(station.asked, position.asked),
    seen = CASE WHEN station.seen = position.withdrawn THEN position.seen ELSE greatest(station.seen, position.seen) END
  FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
      AS position (key, registered_at, asked, seen, withdrawn)
    JOIN (SELECT key FROM station WHERE key = ANY ($1) ORDER BY key FOR NO KEY UPDATE) AS locked USING (key)
  WHERE station.key = position.key AND station.registered_at = position.registered_at`

/** A time at which nothing was written. */
const NEVER = -1

interface Position {
  /** Of which registration of the station it is. */
  readonly registeredAt: number
  /** The newest cursor that a request brought, here or, by what was read last, at another instance. */
  asked: number
  /** As the database has it, by what was read or written last. */
  written: number
  /** What is known here alone: the phone has seen every message up to it, or is about to. */
  seen: number
  /** Was written, and turned out to be lost: does not count until it is taken back. */
  withdrawn: number
  /** The newest message's time when that was read last. */
  newest: number
}

const UNHEEDED = { sent: () => {}, lost: () => {} }

interface CursorsParts {
  readonly database: Queries
  readonly reader: Reader
  readonly clock: Clock
}

/** The cursors as the rest of the store takes them. */
export interface SharedCursors extends Cursors {
  /** The station's messages were read, and with them where its phone is. */
  note(station: StationKey, reading: Reading): void
  /** Writes down what is not written yet, but for what answers have just brought. */
  seal(): Promise<void>
}

/**
 * Where each station's phone is, by the rules of the store in a file. What is written may be older than what is so, never newer than what
 * some instance knows: so each may take the newer of what it knows itself and what is written.
 */
export function openCursors({ database, reader, clock }: CursorsParts): SharedCursors {
  // In the order in which they were last asked for.
  const positions = new Map<StationKey, Position>()
  // Since when, in elapsed milliseconds.
  const unwritten = new Map<StationKey, number>()
  let writing: Timer | undefined
  let sealed = false

  function note(station: StationKey, { registeredAt, asked, seen, newest }: Reading): Position {
    const known = positions.get(station)
    const position =
      known?.registeredAt === registeredAt
        ? known
        : { registeredAt, asked, written: seen, seen: registeredAt, withdrawn: NEVER, newest }
    position.asked = Math.max(position.asked, asked)
    // Taken back by another instance: what followed from it here goes too.
    if (seen < position.written) position.seen = registeredAt
    position.written = seen
    position.newest = Math.max(position.newest, newest)
    positions.delete(station)
    positions.set(station, position)
    if (positions.size > MOST_POSITIONS) forgetOldest()
    return position
  }

  function forgetOldest(): void {
    for (const key of positions.keys()) {
      if (positions.size <= MOST_POSITIONS) return
      if (!unwritten.has(key)) positions.delete(key)
    }
  }

  function seenOf({ written, seen, withdrawn }: Position): number {
    return written === withdrawn ? seen : Math.max(written, seen)
  }

  function setSeen(key: StationKey, position: Position, serverTime: number): void {
    // Where there was nothing to be seen, the older one says as much.
    if (position.newest > Math.min(seenOf(position), serverTime)) changed(key)
    position.seen = serverTime
  }

  function changed(key: StationKey): void {
    unwritten.set(key, clock.elapsed())
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
  function oldOnes(): readonly StationKey[] {
    const until = clock.elapsed() - WRITE_AFTER_MS
    return [...unwritten].flatMap(([key, since]) =>
      since <= until || positions.get(key)?.withdrawn !== NEVER ? [key] : [],
    )
  }

  async function write(keys: readonly StationKey[]): Promise<void> {
    for (const key of keys) unwritten.delete(key)
    for (let start = 0; start < keys.length; start += STATEMENT_ROWS) {
      const slice = keys.slice(start, start + STATEMENT_ROWS)
      await writeSlice(slice).catch(() => {
        for (const key of slice) changed(key)
      })
    }
  }

  async function writeSlice(keys: readonly StationKey[]): Promise<void> {
    const rows = keys.flatMap((key) => {
      const position = positions.get(key)
      return position ? { key, position, ...position } : []
    })
    await database.query(WRITE, [
      rows.map(({ key }) => key),
      rows.map(({ registeredAt }) => registeredAt),
      rows.map(({ asked }) => asked),
      rows.map(({ seen }) => seen),
      rows.map(({ withdrawn }) => withdrawn),
    ])
    for (const { position, seen, withdrawn } of rows) {
      position.written = position.written === withdrawn ? seen : Math.max(position.written, seen)
      if (position.withdrawn === withdrawn) position.withdrawn = NEVER
    }
  }

  return {
    async current(station) {
      const found = await reader.read(station, Number.POSITIVE_INFINITY)
      if (!found.station) return found.last
      const position = note(station, found.station)
      const seen = seenOf(position)
      if (found.station.newest > seen) return seen
      position.seen = Math.max(position.seen, found.last)
      return found.last
    },

    handOut(station, since, serverTime) {
      const position = positions.get(station)
      // Whoever asks for more than the phone did is not the phone, or one that begins anew and comes back with a cursor.
      if (!position || since < position.asked || since > serverTime) return UNHEEDED
      position.asked = Math.floor(since)
      let before = Math.max(seenOf(position), position.asked)
      if (before > seenOf(position)) setSeen(station, position, before)
      return {
        sent() {
          before = seenOf(position)
          if (serverTime > before) setSeen(station, position, serverTime)
        },
        lost() {
          // With a newer cursor it says itself that it has what came with this one.
          if (position.asked >= serverTime || before >= seenOf(position)) return
          if (position.written === serverTime) position.withdrawn = serverTime
          if (position.seen > before) setSeen(station, position, before)
          void write([station])
        },
      }
    },

    note: (station, reading) => void note(station, reading),

    async seal() {
      sealed = true
      writing?.cancel()
      await write(oldOnes())
    },
  }
}
