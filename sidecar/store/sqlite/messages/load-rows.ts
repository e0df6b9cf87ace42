import { firstNewer } from '../../../messages/first-newer.ts'
import type { StationKey } from '../../../messages/store.ts'
import type { Connection } from '../database/connection.ts'

const PAGE_ROWS = 20_000
/**
 * The amount (2^52) that {@link fitRings} subtracts from a stamp. It makes the stamp negative and keeps the order of
 * stamps.
 */
const BELOW = 4_503_599_627_370_496

const LOAD = `
  SELECT json_group_array(time) AS times, json_group_array(station) AS stations, json_group_array(source) AS sources
  FROM (SELECT time, station, source FROM message WHERE time > ? ORDER BY time LIMIT ${PAGE_ROWS})`
const RECEIVED = `
  SELECT json_group_array(received_at) AS received
  FROM (SELECT received_at FROM message WHERE time IN (SELECT value FROM json_each(?)) ORDER BY time)`
const DELETED = 'SELECT key, dropped_through AS through FROM station WHERE dropped_through > 0'
const OTHER_SSIDS =
  'SELECT station AS key, max(time) AS stamp FROM message WHERE addressee IS NOT NULL GROUP BY station'
const SET_BELOW = `UPDATE message SET time = time - ${BELOW} WHERE time > 0 AND time IN (SELECT value FROM json_each(?))`

/** The rows of a station's messages in the file: first those dropped from its ring, then those in its ring. */
export interface Rows {
  readonly station: StationKey
  /** The stamps of all rows, oldest first. */
  times: number[]
  /**
   * Wall-clock time in milliseconds at which each dropped row left the ring. The dropped rows are the first entries of
   * `times`.
   */
  droppedAt: number[]
  /** Stamp of the newest dropped message that is no longer in the file; 0 if there is none. */
  deletedThrough: number
  /**
   * Stamp of the newest message to another SSID of the station's callsign, or a later stamp; 0 if there is no such
   * message.
   */
  newestOtherSsid: number
}

/** Returns the stamp of the newest message that was dropped from the station's ring; 0 if there is none. */
export function newestDropped({ times, droppedAt, deletedThrough }: Rows): number {
  const time = times[droppedAt.length - 1]
  return time === undefined ? deletedThrough : Math.max(deletedThrough, stampOfRow(time))
}

/** Returns the stamp of a row. `time` is the stamp itself, unless {@link fitRings} has made it negative. */
export function stampOfRow(time: number): number {
  return time > 0 ? time : time + BELOW
}

/** The index of all messages in the file, as a start reads it. */
interface Loaded {
  readonly stations: Map<StationKey, Rows>
  /** The senders of the messages to each station. */
  readonly senders: Map<StationKey, Set<string>>
  /** The newest stamp of all messages; 0 if there is none. */
  readonly newest: number
}

/** Reads the index of the file for rings of `perStation` messages. Rows dropped before are dated by their arrival. */
export async function loadRows(connection: Connection, perStation: number): Promise<Loaded> {
  const loaded = await load(connection)
  const counts = await fitRings(connection, loaded.stations, perStation)
  await dateDropped(connection, counts)
  for (const { key, through } of await connection.all<{ key: StationKey; through: number }>(DELETED)) {
    const rows = loaded.stations.get(key)
    if (rows) rows.deletedThrough = through
  }
  for (const { key, stamp } of await connection.all<{ key: StationKey; stamp: number }>(OTHER_SSIDS)) {
    const rows = loaded.stations.get(key)
    if (rows) rows.newestOtherSsid = stamp
  }
  return loaded
}

/** Reads all rows, and treats them as if no row had been dropped from a ring. */
async function load(connection: Connection): Promise<Loaded> {
  const stations = new Map<StationKey, Rows>()
  const senders = new Map<StationKey, Set<string>>()
  let newest = 0
  for (let last: number | undefined = Number.MIN_SAFE_INTEGER; last !== undefined; ) {
    const [page]: readonly LoadedPage[] = await connection.all<LoadedPage>(LOAD, last)
    const times = numbersOf(page?.times)
    const owners = JSON.parse(page?.stations ?? '[]') as readonly StationKey[]
    const sources = JSON.parse(page?.sources ?? '[]') as readonly string[]
    for (const [index, time] of times.entries()) {
      const owner = owners[index] as StationKey
      const rows = stations.get(owner)
      if (rows) rows.times.push(time)
      else stations.set(owner, { station: owner, times: [time], droppedAt: [], deletedThrough: 0, newestOtherSsid: 0 })
      const ownerSenders = senders.get(owner)
      if (ownerSenders) ownerSenders.add(sources[index] as string)
      else senders.set(owner, new Set([sources[index] as string]))
    }
    newest = Math.max(newest, times.at(-1) ?? 0)
    last = times.length === PAGE_ROWS ? times.at(-1) : undefined
  }
  return { stations, senders, newest }
}

interface LoadedPage {
  readonly times: string
  readonly stations: string
  readonly sources: string
}

/**
 * Fits the rings to `perStation`, and returns the number of dropped rows by station. In larger rings, dropped rows stay
 * dropped, because rings must have no gaps. The next start repeats an interrupted change.
 */
async function fitRings(
  connection: Connection,
  stations: Loaded['stations'],
  perStation: number,
): Promise<ReadonlyMap<Rows, number>> {
  const [state] = await connection.all<{ perStation: number }>('SELECT per_station AS perStation FROM state')
  const formerSize = state?.perStation || perStation
  const below: number[] = []
  const counts = new Map<Rows, number>()
  for (const rows of stations.values()) {
    const dropped = Math.max(firstNewer(rows.times, 0), rows.times.length - formerSize)
    if (formerSize < perStation) {
      for (const time of rows.times.slice(0, dropped)) if (time > 0) below.push(time)
      rows.times = rows.times.map((time, index) => (index < dropped && time > 0 ? time - BELOW : time))
    }
    counts.set(rows, Math.max(dropped, rows.times.length - perStation))
  }
  if (below.length > 0) await connection.all(SET_BELOW, JSON.stringify(below))
  if (state?.perStation !== perStation) await connection.all('UPDATE state SET per_station = ?', perStation)
  return counts
}

async function dateDropped(connection: Connection, counts: ReadonlyMap<Rows, number>): Promise<void> {
  const dropped = [...counts]
    .flatMap(([rows, count]) => rows.times.slice(0, count).map((time) => ({ time, rows })))
    .sort((a, b) => a.time - b.time)
  for (let first = 0; first < dropped.length; first += PAGE_ROWS) {
    const some = dropped.slice(first, first + PAGE_ROWS)
    const [page] = await connection.all<{ received: string }>(RECEIVED, JSON.stringify(some.map(({ time }) => time)))
    const received = numbersOf(page?.received)
    for (const [index, { rows }] of some.entries()) rows.droppedAt.push(received[index] ?? 0)
  }
}

function numbersOf(json: string | undefined): readonly number[] {
  return JSON.parse(json ?? '[]') as readonly number[]
}
