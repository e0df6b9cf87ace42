import type { Clock, Timer } from '../../../clock.ts'
import type { Cursors, Feed, StationKey, Stations } from '../../../messages/store.ts'
import type { Queries } from '../database/connection.ts'
import type { Database, Transaction, Write } from '../database/database.ts'
import type { RingIndex } from './ring-index.ts'

// What a crash takes back: a phone then gets an older stamp than it has, which is as safe, and which it does not store.
const WRITE_AFTER_MS = 10_000

const LOAD = `
  SELECT key, registered_at AS registeredAt, ifnull(asked, 0) AS asked,
    max(registered_at, ifnull(seen, 0)) AS seen
  FROM station LEFT JOIN cursor ON cursor.station = key`

const WRITE = `
  INSERT INTO cursor (station, asked, seen)
  SELECT station.key, row.value ->> 2, row.value ->> 3
  FROM json_each(?) AS row CROSS JOIN station ON station.key = row.value ->> 0 AND registered_at = row.value ->> 1
  WHERE true
  ON CONFLICT (station) DO UPDATE SET asked = excluded.asked, seen = excluded.seen`

interface Position {
  /** Of which registration of the station it is. */
  readonly registeredAt: number
  /** The newest cursor that a request brought. */
  asked: number
  /** The phone has seen every message up to it, or is about to. */
  seen: number
  /** The newest message's time, 0 before the first. */
  newest: number
}

const UNHEEDED = { sent: () => {}, lost: () => {} }

interface CursorsParts {
  readonly database: Database
  readonly stations: Pick<Stations, 'get' | 'size'>
  readonly rings: Pick<RingIndex, 'newest'>
  readonly feed: Feed
  readonly clock: Clock
}

/** The cursors as the rest of the store takes them. */
export interface StoredCursors extends Cursors {
  /** Writes down what is not written yet. */
  seal(tx: Transaction): Promise<void>
}

/** Where each station's phone is. Read into memory once; written behind, since being late costs nothing. */
export async function openCursors(
  queries: Queries,
  { database, stations, rings, feed, clock }: CursorsParts,
): Promise<StoredCursors> {
  const positions = new Map<StationKey, Position>()
  const unwritten = new Set<StationKey>()
  let writing: Timer | undefined
  for (const { key, ...position } of await queries.all<Omit<Position, 'newest'> & { key: StationKey }>(LOAD))
    positions.set(key, { ...position, newest: rings.newest(key) })

  feed.onStored((messages) => {
    for (const { to, time } of messages) {
      const position = positionOf(to)
      if (position) position.newest = time
    }
  })

  /** Undefined for a station that is not registered. */
  function positionOf(key: StationKey): Position | undefined {
    const registeredAt = stations.get(key)?.registeredAt
    if (registeredAt === undefined) return undefined
    const known = positions.get(key)
    if (known?.registeredAt === registeredAt) return known
    // What was stored before a registration is no business of its phone.
    const position = { registeredAt, asked: 0, seen: registeredAt, newest: 0 }
    positions.set(key, position)
    if (positions.size > stations.size) forgetOthers()
    return position
  }

  function forgetOthers(): void {
    for (const key of positions.keys()) if (!stations.get(key)) positions.delete(key)
  }

  function setSeen(key: StationKey, position: Position, serverTime: number): void {
    // Where there was nothing to be seen, the older one says as much.
    if (position.newest > Math.min(position.seen, serverTime)) changed(key)
    position.seen = serverTime
  }

  function changed(key: StationKey): void {
    unwritten.add(key)
    writing ??= clock.after(WRITE_AFTER_MS, () => {
      writing = undefined
      const keys = [...unwritten]
      unwritten.clear()
      database.write(write, keys).catch(() => {
        for (const late of keys) unwritten.add(late)
      })
    })
  }

  const write: Write<readonly StationKey[], void> = {
    async run(tx, inputs) {
      const rows = inputs.flat().flatMap((key) => {
        const position = positions.get(key)
        return position ? [[key, position.registeredAt, position.asked, position.seen]] : []
      })
      await tx.last(WRITE, JSON.stringify(rows))
      return inputs.map(() => undefined)
    },
  }

  return {
    async current(station) {
      const position = positionOf(station)
      if (position && position.newest > position.seen) return position.seen
      return feed.view((serverTime) => {
        const now = positionOf(station)
        if (!now) return serverTime
        if (now.newest <= now.seen) now.seen = serverTime
        return now.seen
      })
    },

    handOut(station, since, serverTime) {
      const position = positionOf(station)
      // Whoever asks for more than the phone did is not the phone, or one that begins anew and comes back with a cursor.
      if (!position || since < position.asked || since > serverTime) return UNHEEDED
      position.asked = Math.floor(since)
      let before = Math.max(position.seen, position.asked)
      if (before > position.seen) setSeen(station, position, before)
      return {
        sent() {
          before = position.seen
          if (serverTime > before) setSeen(station, position, serverTime)
        },
        lost() {
          // With a newer cursor it says itself that it has what came with this one.
          if (position.asked < serverTime && before < position.seen) setSeen(station, position, before)
        },
      }
    },

    async seal(tx) {
      writing?.cancel()
      await write.run(tx, [[...unwritten]])
    },
  }
}
