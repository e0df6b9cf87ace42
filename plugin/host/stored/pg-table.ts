import { onceResolved } from './once-resolved.ts'
import { type AddedColumns, missingColumn } from './sql-table.ts'

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
 * Makes a table where it is missing, and adds columns that an older version did not make, if the user of the pool may.
 *
 * @param name as {@link quotedName} gives it
 */
export function pgTable(pool: PgPool, name: string, columns: string, added: AddedColumns = {}): () => Promise<void> {
  return onceResolved(async () => {
    // Asked first: whoever has made the table may have given this user no right to make one.
    const { rows } = await pool.query('SELECT to_regclass($1) AS found', [name])
    if (valueIn(rows, 'found') !== null) {
      await addColumns(pool, name, added)
      return
    }
    // `IF NOT EXISTS` alone fails for one of two that make it at once. Statements in one text are one transaction by
    // themselves.
    await pool.query(`SELECT pg_advisory_xact_lock(${LOCK}); CREATE TABLE IF NOT EXISTS ${name} (${columns})`)
  })
}

async function addColumns(pool: PgPool, name: string, added: AddedColumns): Promise<void> {
  for (const [column, type] of Object.entries(added)) {
    const sql =
      'SELECT 1 AS found FROM pg_attribute WHERE attrelid = to_regclass($1) AND attname = $2 AND NOT attisdropped'
    const { rows } = await pool.query(sql, [name, column])
    if (valueIn(rows, 'found') !== undefined) continue
    await pool.query(`ALTER TABLE ${name} ADD COLUMN IF NOT EXISTS ${column} ${type}`).catch((cause: unknown) => {
      throw missingColumn(name, column, type, cause)
    })
  }
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
