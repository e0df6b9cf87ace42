import { systemClock } from '../clock.ts'
import type { RevocationStore } from './revocation-store.ts'
import { type PgPool, pgTable, quotedName, valueIn } from './stored/pg-table.ts'

export interface PgRevocationsOptions {
  /**
   * Made where it is missing, if the user of the pool may. Default `mesh_companion_revocation`, found by the search
   * path.
   */
  readonly table?: string
  readonly now?: () => number
}

const CLEAN_UP_MS = 60 * 60_000

/**
 * Revocations in PostgreSQL, for all processes of a server and through their restarts. A look-up is one statement by
 * primary key. What has run out is deleted once an hour: by the clock of the database too, so that no process with a
 * wrong one deletes what the others need.
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
      // In one order everywhere: two of these never wait for one another.
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
      const { rows } = await pool.query(`SELECT max(ended_at) AS at FROM ${name} WHERE key = ANY($1)`, [[...keys]])
      const at = valueIn(rows, 'at')
      // As text: it is a bigint.
      return at === null || at === undefined ? undefined : Number(at)
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
