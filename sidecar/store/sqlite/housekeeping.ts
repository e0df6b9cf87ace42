import type { Clock } from '../../clock.ts'
import type { Housekeeping, StationKey, Stations } from '../../messages/store.ts'
import { type Database, eachInTurn, type Write } from './database/database.ts'
import { freeBytes } from './database/database-file.ts'
import type { RingIndex } from './messages/ring-index.ts'

// What a request may have to wait for: one slice. A station's rows are all over the file, each on a page of its own:
// 100 took 6 ms with 250,000 in the file. A look at 500 stations took 2 ms.
const SLICE_ROWS = 100
const SLICE_STATIONS = 500

const AMONG = `
  SELECT key FROM (SELECT value AS key FROM json_each(?)) WHERE key NOT IN (SELECT key FROM station)`
const OWNERS = `
  SELECT max(key) AS last, json_group_array(key) FILTER (WHERE key NOT IN (SELECT key FROM station)) AS orphans
  FROM (
    SELECT station AS key FROM avatar WHERE station > ?1 UNION SELECT station FROM device WHERE station > ?1 ORDER BY 1 LIMIT ?2
  )`

// Judged again: the station may have registered since.
const DELETE_ORPHANS = ['avatar', 'device'].map(
  (table) =>
    `DELETE FROM ${table} WHERE station = ?1 AND NOT EXISTS (SELECT 1 FROM station WHERE key = ?1) RETURNING 1`,
)

const PAGES = 'SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()'

interface HousekeepingParts {
  /** Of the database file. */
  readonly path: string
  readonly database: Database
  readonly stations: Stations
  readonly rings: Pick<RingIndex, 'keys' | 'discard' | 'isSweepable' | 'sweep'>
  readonly perStation: number
  readonly clock: Clock
}

/** Every step is one entry of the queue, given after the one before is done, so that requests get in between. */
export function openHousekeeping(parts: HousekeepingParts): Housekeeping {
  const { path, database, stations, rings, perStation, clock } = parts
  const stationsPerSlice = Math.max(1, Math.floor(SLICE_ROWS / perStation))

  async function expire(beforeMs: number, signal: AbortSignal): Promise<number> {
    let expired = 0
    let slice: StationKey[] = []
    const removeSlice = async (): Promise<void> => {
      const removed = await Promise.all(slice.map((key) => stations.remove(key, { seenBeforeMs: beforeMs })))
      expired += removed.filter((outcome) => outcome === 'station').length
      slice = []
    }
    for (const key of stations.keys()) {
      if (signal.aborted) return expired
      if (stations.get(key)?.devices.every(({ lastSeenAt }) => lastSeenAt >= beforeMs)) continue
      slice.push(key)
      if (slice.length === stationsPerSlice) await removeSlice()
    }
    if (slice.length > 0 && !signal.aborted) await removeSlice()
    return expired
  }

  async function messageOrphans(signal: AbortSignal): Promise<readonly StationKey[]> {
    const owners = [...rings.keys()]
    const found: StationKey[] = []
    for (let first = 0; first < owners.length && !signal.aborted; first += SLICE_STATIONS) {
      const slice = JSON.stringify(owners.slice(first, first + SLICE_STATIONS))
      const orphans = await database.read((queries) => queries.all<{ key: StationKey }>(AMONG, slice))
      found.push(...orphans.map(({ key }) => key))
    }
    return found
  }

  async function* owningOrphans(signal: AbortSignal): AsyncGenerator<StationKey> {
    let last: StationKey | null = ''
    while (last !== null && !signal.aborted) {
      const after: StationKey = last
      const [found] = await database.read((queries) =>
        queries.all<{ last: StationKey | null; orphans: string }>(OWNERS, after, SLICE_STATIONS),
      )
      yield* JSON.parse(found?.orphans ?? '[]') as readonly StationKey[]
      last = found?.last ?? null
    }
  }

  async function removeOrphans(signal: AbortSignal): Promise<number> {
    let rows = 0
    for (const station of await messageOrphans(signal)) {
      for (let removed = SLICE_ROWS; removed === SLICE_ROWS && !signal.aborted; rows += removed)
        removed = await database.write(deleteMessages, station)
    }
    for await (const station of owningOrphans(signal)) rows += await database.write(deleteOrphans, station)
    return rows
  }

  const deleteMessages: Write<StationKey, number> = {
    weight: () => SLICE_ROWS,
    run: (tx, stationsInTurn) =>
      eachInTurn(stationsInTurn, async (key) => {
        // Judged again: the station may have registered since.
        const [orphan] = await tx.look(AMONG, JSON.stringify([key]))
        return orphan === undefined ? 0 : rings.discard(tx, [key], SLICE_ROWS)
      }),
  }

  const sweep: Write<number, void> = {
    weight: () => SLICE_ROWS,
    run: (tx, times) => eachInTurn(times, (now) => rings.sweep(tx, now)),
  }

  async function expireDropped(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && rings.isSweepable(clock.now())) await database.write(sweep, clock.now())
  }

  /**
   * SQLite moves its log into the file by itself at 4 MB, so that this is never much: 14 ms at most for all of it. In
   * two steps: the first copies, and the second then only has to cut the log, which a start would otherwise have to
   * read.
   */
  async function checkpoint(): Promise<void> {
    const [moved] = await database.read((queries) => queries.all<{ log: number }>('PRAGMA wal_checkpoint(PASSIVE)'))
    if (moved && moved.log > 0) await database.read((queries) => queries.all('PRAGMA wal_checkpoint(TRUNCATE)'))
  }

  /** With the limit, statistics are taken from a sample: without it, this took 100 ms for 200,000 rows. */
  async function refreshStatistics(): Promise<void> {
    await database.read(async (queries) => {
      await queries.all('PRAGMA analysis_limit = 200')
      await queries.all('PRAGMA optimize')
    })
  }

  return {
    expire,
    async tidy(signal) {
      const rows = await removeOrphans(signal)
      await expireDropped(signal)
      if (!signal.aborted) await refreshStatistics()
      if (!signal.aborted) await checkpoint()
      return rows
    },
    presentSince: undefined,
    sizeBytes: () =>
      database.read(async (queries) => {
        const [size] = await queries.all<{ bytes: number }>(PAGES)
        return size?.bytes ?? Number.NaN
      }),
    freeBytes: () => freeBytes(path),
  }
}

const deleteOrphans: Write<StationKey, number> = {
  run: (tx, stationsInTurn) =>
    eachInTurn(stationsInTurn, async (key) => {
      const rows = await eachInTurn(DELETE_ORPHANS, (statement) => tx.all(statement, key))
      return rows.flat().length
    }),
}
