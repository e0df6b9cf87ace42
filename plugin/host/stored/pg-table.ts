import { onceResolved } from './once-resolved.ts'

/** The method of a connection pool that single statements need. The pool of package `pg`, version 8, has it. */
export interface PgPool {
  query(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: readonly unknown[]; readonly rowCount: number | null }>
}

/** The number of the advisory lock that all processes take while they create a table. It is arbitrary. */
const LOCK = 0x6d636f69

/**
 * Returns a function that creates a table if it is missing and the pool's user may.
 *
 * @param name as {@link quotedName} returns it
 */
export function pgTable(pool: PgPool, name: string, columns: string): () => Promise<void> {
  return onceResolved(async () => {
    // Check first whether the table exists, because an administrator may have created it for a database user who may
    // not create tables.
    const { rows } = await pool.query('SELECT to_regclass($1) AS found', [name])
    if (valueIn(rows, 'found') !== null) return
    // Without a lock, one of two simultaneous `CREATE TABLE IF NOT EXISTS` fails. It lasts until this query's
    // transaction ends.
    await pool.query(`SELECT pg_advisory_xact_lock(${LOCK}); CREATE TABLE IF NOT EXISTS ${name} (${columns})`)
  })
}

/** Returns the value of a column in the first row, or undefined if there is no row. */
export function valueIn(rows: readonly unknown[], column: string): unknown {
  const [row] = rows
  if (typeof row !== 'object' || row === null) return undefined
  return (row as Readonly<Record<string, unknown>>)[column]
}

/** Quotes a table name for SQL. The name may include a schema. */
export function quotedName(table: string): string {
  return table
    .split('.')
    .map((part) => `"${part.replaceAll('"', '""')}"`)
    .join('.')
}
