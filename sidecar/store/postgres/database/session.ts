import type pg from 'pg'
import { StoreError } from '../../../errors.ts'

/** The schema with everything in it. */
export const SCHEMA = 'mesh_companion'

/** What PostgreSQL calls a setting, and what it is set to. */
export type SessionSettings = Readonly<Record<string, string | number>>

const PID = 'SELECT pg_backend_pid() AS pid'
// The first part of a file's name, in hexadecimal. A standby writes none.
const TIMELINE = `SELECT CASE WHEN pg_is_in_recovery() THEN 0
  ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END AS timeline`
const SERVER = '(SELECT system_identifier FROM pg_control_system())'
const REMEMBERED = `SELECT timeline FROM clock WHERE server = ${SERVER}`
/**
 * Has the database remember `$1`, its timeline. A dump takes that along, and elsewhere it says nothing: so with the
 * server.
 */
export const REMEMBER_TIMELINE = `UPDATE clock SET timeline = $1, server = ${SERVER} WHERE (timeline, server) <> ($1, ${SERVER})`

/**
 * Which timeline a server writes: each promotion of a standby begins the next. 0 at a standby; undefined where a
 * provider lets nobody know.
 */
export async function timelineOf(client: pg.ClientBase, statement = TIMELINE): Promise<number | undefined> {
  try {
    return (await client.query<{ timeline: number }>(statement)).rows[0]?.timeline
  } catch {
    return undefined // a connection that is broken the next statement finds out
  }
}

/** The one that the database remembers; undefined before there is any, and after a move to another server. */
export function rememberedTimeline(client: pg.ClientBase): Promise<number | undefined> {
  return timelineOf(client, REMEMBERED)
}

/**
 * Sets what a new connection needs, and sees that it keeps it. With a statement, since poolers refuse what the protocol
 * would set while it connects. Rejects with `database_pooled` where the next statement comes to another session, or
 * finds another schema than it was given.
 */
export async function setUpSession(client: pg.ClientBase, settings: SessionSettings): Promise<void> {
  const given = { search_path: SCHEMA, ...settings }
  const set = Object.entries(given).map(([name, value]) => `set_config('${name}', '${value}', false)`)
  const before = await client.query<{ pid: number }>(`${PID}, ${set.join(', ')}`)
  // Before the first start there is no schema.
  const after = await client.query<{ pid: number; ours: boolean }>(
    `${PID}, coalesce(current_schema(), '${SCHEMA}') = '${SCHEMA}' AS ours`,
  )
  if (!after.rows[0]?.ours || after.rows[0].pid !== before.rows[0]?.pid) throw new StoreError('database_pooled')
}
