/**
 * Single statements on a table, each whole or not at all, whoever else writes. Parameters are `$1`, `$2` and so on, in
 * this order.
 */
export interface SqlTable {
  /** As it stands in a statement. */
  readonly name: string
  /** @returns rows changed */
  run(sql: string, ...values: SqlValue[]): Promise<number>
  /** The same, and no two of these at once: what one has counted still holds when it writes. */
  runAlone(sql: string, ...values: SqlValue[]): Promise<number>
  all(sql: string, ...values: SqlValue[]): Promise<readonly SqlRow[]>
}

/** Columns that a newer version has added to a table, with their types. All of them may be null. */
export type AddedColumns = Readonly<Record<string, string>>

/** What an administrator can do where the server may not change its own table. */
export function missingColumn(table: string, column: string, type: string, cause: unknown): Error {
  const statement = `ALTER TABLE ${table} ADD COLUMN ${column} ${type}`
  return new Error(`The table ${table} is of an older version, and this server may not change it: ${statement}`, {
    cause,
  })
}

export type SqlValue = string | number | null
export type SqlRow = Readonly<Record<string, unknown>>

/** Of a database that takes longer than its limit. */
export const LATE = 'The database of accounts and groups did not answer in time.'

export function rowsOf(rows: readonly unknown[]): readonly SqlRow[] {
  return rows.flatMap((row) => (typeof row === 'object' && row !== null ? { ...row } : []))
}
