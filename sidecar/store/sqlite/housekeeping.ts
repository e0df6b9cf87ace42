import type { Clock } from '../../clock.ts'
import type { Housekeeping, StationKey, Stations } from '../../messages/store.ts'
import { readSql } from '../read-sql.ts'
import { type Database, eachInTurn, type Write } from './database/database.ts'
import { freeBytes } from './database/database-file.ts'
import type { RingIndex } from './messages/ring-index.ts'

// Limits of a slice, for which requests wait. Each row of a station is on another page: deleting 100 of 250,000 rows
// took 6 ms, searching 500 stations 2 ms.
const SLICE_ROWS = 100
const SLICE_STATIONS = 500

const WITHOUT_STATION = `
  SELECT key FROM (SELECT value AS key FROM json_each(?)) WHERE key NOT IN (SELECT key FROM station)`
const ORPHAN_OWNERS = readSql(new URL('./orphan-owners.sql', import.meta.url))

// Checks again that the station does not exist, because it may have registered since the search for orphaned rows.
const DELETE_ORPHANS = ['avatar', 'device', 'ack'].map(
  (table) =>
    `DELETE FROM ${table} WHERE station = ?1 AND NOT EXISTS (SELECT 1 FROM station WHERE key = ?1) RETURNING 1`,
)

const PAGES = 'SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()'

interface HousekeepingParts {
  /** The path of the database file. */
  readonly path: string
  readonly database: Database
  readonly stations: Stations
  readonly rings: Pick<RingIndex, 'keys' | 'discard' | 'isSweepable' | 'sweep'>
  readonly perStation: number
  readonly clock: Clock
}

/** Opens the housekeeping of a database file. */
export function openHousekeeping(parts: HousekeepingParts): Housekeeping {
  return new SqliteHousekeeping(parts)
}

/**
 * Housekeeping in slices. Each is queued once the previous one is done, so requests run in between. An aborted `signal`
 * ends the work after a slice.
 */
class SqliteHousekeeping implements Housekeeping {
  readonly #parts: HousekeepingParts

  constructor(parts: HousekeepingParts) {
    this.#parts = parts
  }

  readonly presentSince = undefined

  async expire(beforeMs: number, signal: AbortSignal): Promise<number> {
    const { stations, perStation } = this.#parts
    const stationsPerSlice = Math.max(1, Math.floor(SLICE_ROWS / perStation))
    let expired = 0
    let slice: StationKey[] = []
    const removeSlice = async (): Promise<void> => {
      const outcomes = await Promise.all(slice.map((key) => stations.remove(key, { seenBeforeMs: beforeMs })))
      expired += outcomes.filter((outcome) => outcome === 'station').length
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

  async tidy(signal: AbortSignal): Promise<number> {
    const rows = await this.#removeOrphans(signal)
    await this.#expireDropped(signal)
    if (!signal.aborted) await this.#refreshStatistics()
    if (!signal.aborted) await this.#checkpoint()
    return rows
  }

  sizeBytes(): Promise<number> {
    return this.#parts.database.read(async (queries) => {
      const [size] = await queries.all<{ bytes: number }>(PAGES)
      return size?.bytes ?? Number.NaN
    })
  }

  freeBytes(): Promise<number> {
    return freeBytes(this.#parts.path)
  }

  async #removeOrphans(signal: AbortSignal): Promise<number> {
    const { database } = this.#parts
    let rows = 0
    for (const station of await this.#orphansWithMessages(signal)) {
      for (let removed = SLICE_ROWS; removed === SLICE_ROWS && !signal.aborted; rows += removed)
        removed = await database.write(this.#deleteMessages, station)
    }
    for await (const station of this.#orphansWithRows(signal)) rows += await database.write(deleteOrphans, station)
    return rows
  }

  async #orphansWithMessages(signal: AbortSignal): Promise<readonly StationKey[]> {
    const { database, rings } = this.#parts
    const owners = [...rings.keys()]
    const orphans: StationKey[] = []
    for (let first = 0; first < owners.length && !signal.aborted; first += SLICE_STATIONS) {
      const slice = JSON.stringify(owners.slice(first, first + SLICE_STATIONS))
      const rows = await database.read((queries) => queries.all<{ key: StationKey }>(WITHOUT_STATION, slice))
      orphans.push(...rows.map(({ key }) => key))
    }
    return orphans
  }

  async *#orphansWithRows(signal: AbortSignal): AsyncGenerator<StationKey> {
    let last: StationKey | null = ''
    while (last !== null && !signal.aborted) {
      const previous: StationKey = last
      const [slice] = await this.#parts.database.read((queries) =>
        queries.all<{ last: StationKey | null; orphans: string }>(ORPHAN_OWNERS, previous, SLICE_STATIONS),
      )
      yield* JSON.parse(slice?.orphans ?? '[]') as readonly StationKey[]
      last = slice?.last ?? null
    }
  }

  async #expireDropped(signal: AbortSignal): Promise<void> {
    const { database, rings, clock } = this.#parts
    while (!signal.aborted && rings.isSweepable(clock.now())) await database.write(this.#sweep, clock.now())
  }

  /**
   * Checkpoints the log, in at most 14 ms, because SQLite does so at 4 MB. Copies the pages, then truncates the log,
   * which the next start would read.
   */
  async #checkpoint(): Promise<void> {
    const { database } = this.#parts
    const [moved] = await database.read((queries) => queries.all<{ log: number }>('PRAGMA wal_checkpoint(PASSIVE)'))
    if (moved && moved.log > 0) await database.read((queries) => queries.all('PRAGMA wal_checkpoint(TRUNCATE)'))
  }

  /**
   * Refreshes the statistics of the query planner from a sample. Without `analysis_limit`, this took 100 ms for 200,000
   * rows.
   */
  async #refreshStatistics(): Promise<void> {
    await this.#parts.database.read(async (queries) => {
      await queries.all('PRAGMA analysis_limit = 200')
      await queries.all('PRAGMA optimize')
    })
  }

  readonly #deleteMessages: Write<StationKey, number> = {
    weight: () => SLICE_ROWS,
    run: (tx, keys) =>
      eachInTurn(keys, async (key) => {
        // Checks again, because the station may have registered since the search for orphaned rows.
        const [orphan] = await tx.look(WITHOUT_STATION, JSON.stringify([key]))
        return orphan === undefined ? 0 : this.#parts.rings.discard(tx, [key], SLICE_ROWS)
      }),
  }

  readonly #sweep: Write<number, void> = {
    weight: () => SLICE_ROWS,
    run: (tx, times) => eachInTurn(times, (now) => this.#parts.rings.sweep(tx, now)),
  }
}

const deleteOrphans: Write<StationKey, number> = {
  run: (tx, keys) =>
    eachInTurn(keys, async (key) => {
      const rows = await eachInTurn(DELETE_ORPHANS, (statement) => tx.all(statement, key))
      return rows.flat().length
    }),
}
