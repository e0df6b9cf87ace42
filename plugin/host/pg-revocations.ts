import { systemClock } from '../clock.ts'
import type { RevocationStore } from './revocation-store.ts'

/** What is used of a pool of `pg`, version 8. */
export interface PgPool {
  query(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: readonly unknown[]; readonly rowCount: number | null }>
}

export interface PgRevocationsOptions {
  /** Made where it is missing, if the user of the pool may. Default `mesh_companion_revocation`, found by the search path. */
  readonly table?: string
  readonly now?: () => number
}

const CLEAN_UP_MS = 60 * 60_000
/** Any number; all processes take the same one while they make the table. */
const LOCK = 0x6d636f69

/**
 * Revocations in PostgreSQL, for all processes of a server and through their restarts. A look-up is one statement by primary key. What has
 * run out is deleted once an hour: by the clock of the database too, so that no process with a wrong one deletes what the others need.
 */
export function pgRevocations(pool: PgPool, options: PgRevocationsOptions = {}): RevocationStore {
  const { table = 'mesh_companion_revocation', now = systemClock.now } = options
  const name = quoted(table)
  let ready: Promise<void> | undefined
  let cleanedAt = Number.NEGATIVE_INFINITY

  /** A failure is forgotten: the next call tries again. */
  function prepared(): Promise<void> {
    ready ??= prepare().catch((error: unknown) => {
      ready = undefined
      throw error
    })
    return ready
  }

  async function prepare(): Promise<void> {
    // Asked first: whoever has made the table may have given this user no right to make one.
    const { rows } = await pool.query('SELECT to_regclass($1) AS found', [name])
    if (one(rows, 'found') !== null) return
    // `IF NOT EXISTS` alone fails for one of two that make it at once.
    await pool.query(`
      BEGIN;
      SELECT pg_advisory_xact_lock(${LOCK});
      CREATE TABLE IF NOT EXISTS ${name} (key text PRIMARY KEY, ended_at bigint NOT NULL, until bigint NOT NULL);
      COMMIT`)
  }

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
      const at = one(rows, 'at')
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

function one(rows: readonly unknown[], column: string): unknown {
  const [row] = rows
  return typeof row === 'object' && row !== null ? Reflect.get(row, column) : undefined
}

/** A name as SQL takes it, with its schema or without. */
function quoted(table: string): string {
  return table
    .split('.')
    .map((part) => `"${part.replaceAll('"', '""')}"`)
    .join('.')
}
