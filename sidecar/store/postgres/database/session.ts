import type pg from 'pg'
import { StoreError } from '../../../errors.ts'

/** The schema that contains all tables and functions of the sidecar. */
export const SCHEMA = 'mesh_companion'

/** Settings of a database session, by their names in PostgreSQL. */
export type SessionSettings = Readonly<Record<string, string | number>>

const PID = 'SELECT pg_backend_pid() AS pid'
// The name of a WAL file begins with the timeline in hexadecimal. A standby writes no WAL, so it has no such name.
const TIMELINE = `SELECT CASE WHEN pg_is_in_recovery() THEN 0
  ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END AS timeline`
const SERVER = '(SELECT system_identifier FROM pg_control_system())'
const REMEMBERED = `SELECT timeline FROM clock WHERE server = ${SERVER}`
/**
 * Records the timeline `$1` with the server's identity. If a dump is restored on another server, the identity differs.
 */
export const REMEMBER_TIMELINE = `UPDATE clock SET timeline = $1, server = ${SERVER} WHERE (timeline, server) <> ($1, ${SERVER})`

/** Returns the timeline that a server writes; 0 for a standby, and undefined if the provider does not reveal it. */
export async function timelineOf(client: pg.ClientBase, statement = TIMELINE): Promise<number | undefined> {
  try {
    return (await client.query<{ timeline: number }>(statement)).rows[0]?.timeline
  } catch {
    return undefined // if the connection is broken, the next statement fails
  }
}

/** Returns the timeline recorded in the database; undefined if none is recorded for this server. */
export function rememberedTimeline(client: pg.ClientBase): Promise<number | undefined> {
  return timelineOf(client, REMEMBERED)
}

/**
 * Applies settings by a statement, because poolers refuse them in the startup message. Rejects with `database_pooled`
 * if the session does not keep them.
 */
export async function setUpSession(client: pg.ClientBase, settings: SessionSettings): Promise<void> {
  const all = { search_path: SCHEMA, ...settings }
  const set = Object.entries(all).map(([name, value]) => `set_config('${name}', '${value}', false)`)
  const first = await client.query<{ pid: number }>(`${PID}, ${set.join(', ')}`)
  // Before the first start, the schema does not exist and `current_schema()` is null.
  const second = await client.query<{ pid: number; ours: boolean }>(
    `${PID}, coalesce(current_schema(), '${SCHEMA}') = '${SCHEMA}' AS ours`,
  )
  if (!second.rows[0]?.ours || second.rows[0].pid !== first.rows[0]?.pid) throw new StoreError('database_pooled')
}
