import type { Clock } from '../clock.ts'
import type { Housekeeping, StationKey, Stations } from '../messages/store.ts'
import type { Database, Write } from './database/database.ts'
import { freeBytes } from './database/database-file.ts'
import type { Duplicates } from './messages/duplicates.ts'

// What a request may have to wait for: one slice. 250 rows took 3 ms with 200,000 in the file, a look at 500 stations 2 ms.
const SLICE_ROWS = 250
const SLICE_STATIONS = 500

// Jumps from station to station in the primary key, where reading every row would take 140 ms for 200,000.
const MESSAGE_OWNERS = `
  WITH RECURSIVE owner (key) AS (
    SELECT (SELECT min(station) FROM message WHERE station > ?1)
    UNION ALL
    SELECT (SELECT min(station) FROM message WHERE station > owner.key) FROM owner WHERE owner.key IS NOT NULL
    LIMIT ?2
  )`
const AVATAR_OWNERS = `
  WITH owner (key) AS (SELECT station FROM avatar WHERE station > ?1 ORDER BY station LIMIT ?2)`
const ORPHANS_AMONG = `
  SELECT max(key) AS last, json_group_array(key) FILTER (WHERE key NOT IN (SELECT key FROM station)) AS orphans
  FROM owner WHERE key IS NOT NULL`

// Judged again: the station may have registered since.
const IS_ORPHAN = 'NOT EXISTS (SELECT 1 FROM station WHERE key = ?1)'
const DELETE_MESSAGES = `
  DELETE FROM message
  WHERE station = ?1 AND ${IS_ORPHAN}
    AND time <= (SELECT max(time) FROM (SELECT time FROM message WHERE station = ?1 ORDER BY time LIMIT ?2))
  RETURNING 1`
const DELETE_AVATAR = `DELETE FROM avatar WHERE station = ?1 AND ${IS_ORPHAN} RETURNING 1`

const PAGES = 'SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()'

interface HousekeepingParts {
  /** Of the database file. */
  readonly path: string
  readonly database: Database
  readonly stations: Stations
  readonly duplicates: Pick<Duplicates, 'expire'>
  readonly perStation: number
  readonly clock: Clock
}

/** Every step is one entry of the queue, given after the one before is done, so that requests get in between. */
export function openHousekeeping(parts: HousekeepingParts): Housekeeping {
  const { path, database, stations, duplicates, perStation, clock } = parts
  const stationsPerSlice = Math.max(1, Math.floor(SLICE_ROWS / perStation))

  async function expire(beforeMs: number, signal: AbortSignal): Promise<number> {
    let expired = 0
    let slice: StationKey[] = []
    const removeSlice = async (): Promise<void> => {
      const removed = await Promise.all(slice.map((key) => stations.remove(key, beforeMs)))
      expired += removed.filter(Boolean).length
      slice = []
    }
    for (const key of stations.keys()) {
      if (signal.aborted) return expired
      if ((stations.get(key)?.lastSeenAt ?? beforeMs) >= beforeMs) continue
      slice.push(key)
      if (slice.length === stationsPerSlice) await removeSlice()
    }
    if (slice.length > 0 && !signal.aborted) await removeSlice()
    return expired
  }

  async function* orphans(owners: string, signal: AbortSignal): AsyncGenerator<StationKey> {
    let last: StationKey | null = ''
    while (last !== null && !signal.aborted) {
      const after: StationKey = last
      const [found] = await database.read((queries) =>
        queries.all<{ last: StationKey | null; orphans: string }>(owners + ORPHANS_AMONG, after, SLICE_STATIONS),
      )
      yield* JSON.parse(found?.orphans ?? '[]') as readonly StationKey[]
      last = found?.last ?? null
    }
  }

  async function removeOrphans(signal: AbortSignal): Promise<number> {
    let rows = 0
    for await (const station of orphans(MESSAGE_OWNERS, signal)) {
      for (let removed = SLICE_ROWS; removed === SLICE_ROWS && !signal.aborted; rows += removed)
        removed = await database.write(deleteMessages, station)
    }
    for await (const station of orphans(AVATAR_OWNERS, signal)) rows += await database.write(deleteAvatar, station)
    return rows
  }

  async function expireDropped(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await duplicates.expire(clock.now())));
  }

  /**
   * SQLite moves its log into the file by itself at 4 MB, so that this is never much: 14 ms at most for all of it. In two steps: the
   * first copies, and the second then only has to cut the log, which a start would otherwise have to read.
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

const deleteMessages: Write<StationKey, number> = {
  weight: () => SLICE_ROWS,
  run: (tx, stationsInTurn) =>
    eachInTurn(stationsInTurn, async (key) => (await tx.all(DELETE_MESSAGES, key, SLICE_ROWS)).length),
}

const deleteAvatar: Write<StationKey, number> = {
  run: (tx, stationsInTurn) => eachInTurn(stationsInTurn, async (key) => (await tx.all(DELETE_AVATAR, key)).length),
}

async function eachInTurn<In, Out>(inputs: readonly In[], handle: (input: In) => Promise<Out>): Promise<Out[]> {
  const outputs: Out[] = []
  for (const input of inputs) outputs.push(await handle(input))
  return outputs
}
