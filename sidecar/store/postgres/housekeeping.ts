import type { Housekeeping, StationKey, Stations } from '../../messages/store.ts'
import { readSql } from '../read-sql.ts'
import type { Queries } from './database/connection.ts'
import type { SqlValue } from './database/sql-values.ts'

/**
 * Limit of rows that one statement deletes. It takes a few milliseconds, and other statements run between two such
 * statements.
 */
const SLICE_ROWS = 500
/** The most expired stations that one statement returns. */
const SLICE_STATIONS = 100
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** Limit of rows in the table `dropped`, as in the SQLite store. */
const MAX_DROPPED = 100_000

const EXPIRED = `SELECT DISTINCT station FROM device WHERE last_seen_at < $1 AND station > $2 ORDER BY station LIMIT ${SLICE_STATIONS}`

/** Returns a statement that deletes at most {@link SLICE_ROWS} rows of `table` that match the condition `rows`. */
const slice = (table: string, rows: string) =>
  `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE ${rows} LIMIT ${SLICE_ROWS})) RETURNING 1`

// The statement that deletes the orphaned rows also selects them. So a station that has just registered keeps its rows.
const orphansOf = (table: string, owner = 'station') =>
  `NOT EXISTS (SELECT FROM ${owner} WHERE ${owner}.key = ${table}.station)`
const ORPHANS = [
  ...['device', 'avatar', 'ring', 'ack'].map((table) => slice(table, orphansOf(table))),
  slice('push_due', orphansOf('push_due', 'device')),
]

const FORGET_CHANGES = readSql(new URL('./forget-changes.sql', import.meta.url), { DAY_MS, SLICE_ROWS })

const RECOUNT = 'SELECT recount_stations()'

const FORGET_DROPPED = slice('dropped', 'abs(now_ms() - received_at) >= $1')
const BOUND_DROPPED = slice('dropped', `id <= (SELECT max(id) FROM dropped) - ${MAX_DROPPED}`)
const FORGET_ACKS = slice('ack_sent', 'abs(now_ms() - at) >= $1')
const FORGET_NEW_STATIONS = slice('new_station', `abs(now_ms() - at) >= ${HOUR_MS}`)
const FORGET_LEASES = slice('lease', `abs(now_ms() - lease_until) >= ${HOUR_MS}`)
// Keeps the row of the instance that was seen last. After an outage, the time in this row shows since when no instance
// served phones.
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
  /** Milliseconds for which duplicates of a message are recognized. */
  readonly duplicateMs: number
  /** Milliseconds for which an ack prevents another ack of the same message. */
  readonly ackMs: number
}

/** Opens the housekeeping. The instance with its lease works for all. A run completes what a failed one left. */
export function openHousekeeping({ database, stations, duplicateMs, ackMs }: HousekeepingParts): Housekeeping {
  const { query } = database

  /** Repeats a statement that deletes one slice of rows until none are left. Returns the number of deleted rows. */
  async function clear(text: string, signal: AbortSignal, ...values: readonly SqlValue[]): Promise<number> {
    let rows = 0
    for (let deleted = SLICE_ROWS; deleted === SLICE_ROWS && !signal.aborted; rows += deleted)
      deleted = (await query(text, values)).length
    return rows
  }

  return {
    async expire(beforeMs, signal) {
      let expired = 0
      let last: StationKey | undefined = ''
      while (last !== undefined && !signal.aborted) {
        const expiring: readonly { readonly station: StationKey }[] = await query(EXPIRED, [beforeMs, last])
        for (const { station } of expiring)
          if (!signal.aborted && (await stations.remove(station, { seenBeforeMs: beforeMs })) === 'station')
            expired += 1
        last = expiring.length === SLICE_STATIONS ? expiring.at(-1)?.station : undefined
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
    // The free space is unknown, because the disk belongs to the database server.
    freeBytes: () => Promise.resolve(Number.NaN),
  }
}
