import { systemClock } from '../clock.ts'
import type { RevocationStore } from './revocation-store.ts'
import { type PgPool, pgTable, quotedName, valueIn } from './stored/pg-table.ts'

export interface PgRevocationsOptions {
  /**
   * The table's name, looked up in the search path. It is created if missing and permitted. Default:
   * `mesh_companion_revocation`.
   */
  readonly table?: string
  readonly now?: () => number
}

const CLEAN_UP_MS = 60 * 60_000

/**
 * Keeps revocations in PostgreSQL, for all processes and across restarts. Once an hour, deletes rows that are also
 * expired by the database's clock, because a process's clock may be wrong.
 */
export function pgRevocations(pool: PgPool, options: PgRevocationsOptions = {}): RevocationStore {
  const { table = 'mesh_companion_revocation', now = systemClock.now } = options
  const name = quotedName(table)
  const prepared = pgTable(pool, name, 'key text PRIMARY KEY, ended_at bigint NOT NULL, until bigint NOT NULL')
  let cleanedAt = Number.NEGATIVE_INFINITY

  async function cleanUp(): Promise<void> {
    if (now() - cleanedAt < CLEAN_UP_MS) return
    cleanedAt = now()
    await pool.query(`DELETE FROM ${name} WHERE until <= least($1, extract(epoch FROM now()) * 1000)`, [now()])
  }

  return {
    isShared: true,

    async revoke(keys, endedAt, until) {
      await prepared()
      // All processes insert the revocation keys in the same order, so that no two statements deadlock.
      await pool.query(
        `INSERT INTO ${name} AS known (key, ended_at, until) SELECT key, $2, $3 FROM unnest($1::text[]) AS key ORDER BY key
         ON CONFLICT (key) DO UPDATE SET ended_at = greatest(known.ended_at, excluded.ended_at),
           until = greatest(known.until, excluded.until)`,
        [[...new Set(keys)], Math.ceil(endedAt), Math.ceil(until)],
      )
      await cleanUp()
    },

    async endedAt(keys) {
      await prepared()
      const { rows } = await pool.query(`SELECT max(ended_at) AS latest FROM ${name} WHERE key = ANY($1)`, [[...keys]])
      const latest = valueIn(rows, 'latest')
      // `pg` returns a bigint as text.
      return latest === null || latest === undefined ? undefined : Number(latest)
    },

    async once(key, until) {
      await prepared()
      const { rowCount } = await pool.query(
        `INSERT INTO ${name} AS known (key, ended_at, until) VALUES ($1, 0, $2)
         ON CONFLICT (key) DO UPDATE SET until = excluded.until WHERE known.until <= $3`,
        [`once ${key}`, Math.ceil(until), now()],
      )
      await cleanUp()
      return rowCount === 1
    },

    async release(key) {
      await prepared()
      await pool.query(`DELETE FROM ${name} WHERE key = $1`, [`once ${key}`])
    },
  }
}
