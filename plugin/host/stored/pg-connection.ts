import type { TimeLimit } from '../time-limit.ts'
import { type PgPool, pgTable, quotedName } from './pg-table.ts'
import { LATE, rowsOf, type SqlTable, type SqlValue } from './sql-table.ts'

/** The methods of a connection pool that transactions need. The pool of package `pg`, version 8, has them. */
export interface PgPoolOfClients extends PgPool {
  connect(): Promise<PgPool & { release(broken?: boolean): void }>
}

/** The number of the advisory lock that all processes take for `runAlone`. It is arbitrary. */
const LOCK = 0x6d63616c

/** Opens a table of PostgreSQL. The first statement creates the table if it is missing. */
export function pgStatements(pool: PgPoolOfClients, table: string, columns: string, limit: TimeLimit): SqlTable {
  const name = quotedName(table)
  const prepared = pgTable(pool, name, columns)
  const inTime = <Result>(work: () => Promise<Result>) => limit(prepared().then(work), LATE)

  async function runAlone(sql: string, values: SqlValue[]): Promise<number> {
    const client = await pool.connect()
    let broken = true
    try {
      // At a stricter level, which may be the default, the statement would not see rows written while it waited for the
      // lock.
      await client.query('BEGIN ISOLATION LEVEL READ COMMITTED')
      await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK])
      const { rowCount } = await client.query(sql, values)
      await client.query('COMMIT')
      broken = false
      return rowCount ?? 0
    } finally {
      // After an error, close the client instead of returning it to the pool, because it may be inside a transaction.
      // Closing it rolls the transaction back.
      client.release(broken)
    }
  }

  return {
    name,
    run: async (sql, ...values) => (await inTime(() => pool.query(sql, values))).rowCount ?? 0,
    runAlone: (sql, ...values) => inTime(() => runAlone(sql, values)),
    all: async (sql, ...values) => rowsOf((await inTime(() => pool.query(sql, values))).rows),
  }
}
