/** A table for single statements, each atomic even with concurrent writers. Parameters are `$1`, `$2` and so on. */
export interface SqlTable {
  /** The name of the table, quoted for use in a statement. */
  readonly name: string
  /** @returns the number of changed rows */
  run(sql: string, ...values: SqlValue[]): Promise<number>
  /**
   * Like `run`, but no other `runAlone` statement runs at the same time. So if the statement counts rows and then
   * inserts one, the count is still correct.
   */
  runAlone(sql: string, ...values: SqlValue[]): Promise<number>
  all(sql: string, ...values: SqlValue[]): Promise<readonly SqlRow[]>
}

export type SqlValue = string | number | null
export type SqlRow = Readonly<Record<string, unknown>>

/** The error text if the database does not answer within the time limit. */
export const LATE = 'The database of accounts and groups did not answer in time.'

export function rowsOf(rows: readonly unknown[]): readonly SqlRow[] {
  return rows.flatMap((row) => (typeof row === 'object' && row !== null ? { ...row } : []))
}
