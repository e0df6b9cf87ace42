import { madeOnce } from './made-once.ts'

/** What is used of a pool of `pg`, version 8. */
export interface PgPool {
  query(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: readonly unknown[]; readonly rowCount: number | null }>
}

/** Any number; all processes take the same one while they make a table. */
const LOCK = 0x6d636f69

/**
 * Makes a table where it is missing, if the user of the pool may.
 *
 * @param name as {@link quotedName} gives it
 */
export function pgTable(pool: PgPool, name: string, columns: string): () => Promise<void> {
  return madeOnce(async () => {
    // Asked first: whoever has made the table may have given this user no right to make one.
    const { rows } = await pool.query('SELECT to_regclass($1) AS found', [name])
    if (valueIn(rows, 'found') !== null) return
    // `IF NOT EXISTS` alone fails for one of two that make it at once. Statements in one text are one transaction by themselves.
    await pool.query(`SELECT pg_advisory_xact_lock(${LOCK}); CREATE TABLE IF NOT EXISTS ${name} (${columns})`)
  })
}

/** Of the first row; undefined where there is none. */
export function valueIn(rows: readonly unknown[], column: string): unknown {
  const [row] = rows
  return typeof row === 'object' && row !== null ? Reflect.get(row, column) : undefined
}

/** A name as SQL takes it, with its schema or without. */
export function quotedName(table: string): string {
  return table
    .split('.')
    .map((part) => `"${part.replaceAll('"', '""')}"`)
    .join('.')
}
