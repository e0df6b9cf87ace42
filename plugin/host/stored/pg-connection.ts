import type { TimeLimit } from '../time-limit.ts'
import { type PgPool, pgTable, quotedName } from './pg-table.ts'
import { type AddedColumns, LATE, rowsOf, type SqlTable, type SqlValue } from './sql-table.ts'

/** What is used of a pool of `pg`, version 8, where several statements have to hold together. */
export interface PgPoolOfClients extends PgPool {
  connect(): Promise<PgPool & { release(broken?: boolean): void }>
}

/** Any number; all processes take the same one. */
const LOCK = 0x6d63616c

/** A table of PostgreSQL, made before its first statement where it is missing. */
export function pgStatements(
  pool: PgPoolOfClients,
  table: string,
  columns: string,
  limit: TimeLimit,
  added: AddedColumns = {},
): SqlTable {
  const name = quotedName(table)
  const prepared = pgTable(pool, name, columns, added)
  const inTime = <Result>(work: () => Promise<Result>) => limit(prepared().then(work), LATE)

  async function runAlone(sql: string, values: SqlValue[]): Promise<number> {
    const client = await pool.connect()
    let broken = true
    try {
      // Whatever the database's default is: the statement has to see what was written while the lock was waited for.
      await client.query('BEGIN ISOLATION LEVEL READ COMMITTED')
      await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK])
      const { rowCount } = await client.query(sql, values)
      await client.query('COMMIT')
      broken = false
      return rowCount ?? 0
    } finally {
      // Amid a transaction it is of no use to others: closing it is a rollback that cannot fail.
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
