import type { Housekeeping, StationKey, Stations } from '../../messages/store.ts'
import type { Queries } from './database/connection.ts'
import type { SqlValue } from './database/sql-values.ts'

/** What a statement may take away: a few milliseconds, after which others get in between. */
const SLICE_ROWS = 500
/** Removals hold the clock, one after the other. */
const SLICE_STATIONS = 100
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** As many as SQLite's store keeps of them. */
const MOST_DROPPED = 100_000

const EXPIRED = `SELECT DISTINCT station FROM device WHERE last_seen_at < $1 AND station > $2 ORDER BY station LIMIT ${SLICE_STATIONS}`

/** Takes a slice of `rows` of `table` away. */
const slice = (table: string, rows: string) =>
  `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE ${rows} LIMIT ${SLICE_ROWS})) RETURNING 1`

// Read again by the statement that deletes: the station may have registered since.
const ofNobody = (table: string, owner = 'station') =>
  `NOT EXISTS (SELECT FROM ${owner} WHERE ${owner}.key = ${table}.station)`
const ORPHANS = [
  ...['device', 'avatar', 'ring'].map((table) => slice(table, ofNobody(table))),
  slice('push_due', ofNobody('push_due', 'device')),
]

// Said first: whoever has not read so far reads everything anew.
const FORGET_CHANGES = `
  WITH old AS (
    SELECT version FROM station_change WHERE version < now_ms() - ${DAY_MS} ORDER BY version LIMIT ${SLICE_ROWS}
  ), said AS (
    UPDATE clock SET changes_since = greatest(changes_since, (SELECT max(version) FROM old)) WHERE EXISTS (SELECT FROM old)
  )
  DELETE FROM station_change WHERE version IN (SELECT version FROM old) RETURNING 1`

const RECOUNT = 'SELECT recount_stations()'

const FORGET_DROPPED = slice('dropped', 'abs(now_ms() - received_at) >= $1')
const BOUND_DROPPED = slice('dropped', `id <= (SELECT max(id) FROM dropped) - ${MOST_DROPPED}`)
const FORGET_ACKS = slice('ack_sent', 'abs(now_ms() - at) >= $1')
const FORGET_NEW_STATIONS = slice('new_station', `abs(now_ms() - at) >= ${HOUR_MS}`)
const FORGET_LEASES = slice('lease', `abs(now_ms() - lease_until) >= ${HOUR_MS}`)
// Never the last that was seen: it says since when somebody was there.
const FORGET_INSTANCES = slice(
  'instance',
  `abs(now_ms() - seen_at) >= ${DAY_MS} AND seen_at < (SELECT max(seen_at) FROM instance)`,
)

const SIZE = `
  SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint AS bytes FROM pg_class
  WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'`

const PRESENT_SINCE = 'SELECT present_since AS "presentSince" FROM clock'

interface HousekeepingParts {
  readonly database: Queries
  readonly stations: Pick<Stations, 'remove'>
  /** For how long after a message a copy of it may come, and for how long an ack counts against another. */
  readonly duplicateMs: number
  readonly ackMs: number
}

/** Whoever holds the lease of that name does it, for all. What fails half-way the next one makes up for. */
export function openHousekeeping({ database, stations, duplicateMs, ackMs }: HousekeepingParts): Housekeeping {
  const { query } = database

  /** Rows that went. */
  async function clear(text: string, signal: AbortSignal, ...values: readonly SqlValue[]): Promise<number> {
    let rows = 0
    for (let taken = SLICE_ROWS; taken === SLICE_ROWS && !signal.aborted; rows += taken)
      taken = (await query(text, values)).length
    return rows
  }

  return {
    async expire(beforeMs, signal) {
      let expired = 0
      let last: StationKey | undefined = ''
      while (last !== undefined && !signal.aborted) {
        const found: readonly { readonly station: StationKey }[] = await query(EXPIRED, [beforeMs, last])
        for (const { station } of found)
          if (!signal.aborted && (await stations.remove(station, { seenBeforeMs: beforeMs })) === 'station')
            expired += 1
        last = found.length === SLICE_STATIONS ? found.at(-1)?.station : undefined
      }
      return expired
    },
    async tidy(signal) {
      let orphans = 0
      for (const text of ORPHANS) orphans += await clear(text, signal)
      if (!signal.aborted) await query(RECOUNT)
      await clear(FORGET_CHANGES, signal)
      await clear(FORGET_DROPPED, signal, duplicateMs)
      await clear(BOUND_DROPPED, signal)
      await clear(FORGET_ACKS, signal, Math.max(ackMs, MINUTE_MS))
      for (const text of [FORGET_NEW_STATIONS, FORGET_LEASES, FORGET_INSTANCES]) await clear(text, signal)
      return orphans
    },
    async presentSince() {
      const [clock] = await query<{ presentSince: number }>(PRESENT_SINCE)
      return clock?.presentSince ?? Number.POSITIVE_INFINITY
    },
    async sizeBytes() {
      const [size] = await query<{ bytes: number }>(SIZE)
      return size?.bytes ?? Number.NaN
    },
    // The disk is the server's.
    freeBytes: () => Promise.resolve(Number.NaN),
  }
}
