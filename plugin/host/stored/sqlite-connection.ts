import type { TimeLimit } from '../time-limit.ts'
import { onceResolved } from './once-resolved.ts'
import { quotedName } from './pg-table.ts'
import { type AddedColumns, LATE, missingColumn, rowsOf, type SqlTable, type SqlValue } from './sql-table.ts'

/**
 * What is used of a `Database` of the package `sqlite3`, version 6. Where several processes write, it needs a
 * `busyTimeout`.
 */
export interface SqliteConnection {
  run(
    sql: string,
    values: readonly SqliteValue[],
    done: (this: { readonly changes: number }, error: Error | null) => void,
  ): unknown
  all(sql: string, values: readonly SqliteValue[], done: (error: Error | null, rows: unknown[]) => void): unknown
}

export type SqliteValue = SqlValue

/** A table of SQLite, made before its first statement where it is missing. */
export function sqliteTable(
  connection: SqliteConnection,
  table: string,
  columns: string,
  limit: TimeLimit,
  added: AddedColumns = {},
): SqlTable {
  const name = quotedName(table)
  const run = (sql: string, values: readonly SqliteValue[]) =>
    new Promise<number>((resolve, reject) => {
      connection.run(sql, values, function (error) {
        if (error) reject(error)
        else resolve(this.changes)
      })
    })
  const all = (sql: string, values: readonly SqliteValue[]) =>
    new Promise<unknown[]>((resolve, reject) => {
      connection.all(sql, values, (error, rows) => (error ? reject(error) : resolve(rows)))
    })
  const has = (column: string) =>
    all(`SELECT ${column} FROM ${name} LIMIT 0`, []).then(
      () => true,
      () => false,
    )
  const prepared = onceResolved(async () => {
    await run(`CREATE TABLE IF NOT EXISTS ${name} (${columns}) STRICT, WITHOUT ROWID`, [])
    for (const [column, type] of Object.entries(added)) {
      if (await has(column)) continue
      await run(`ALTER TABLE ${name} ADD COLUMN ${column} ${type}`, []).catch(async (cause: unknown) => {
        // Another process may have added it meanwhile.
        if (!(await has(column))) throw missingColumn(name, column, type, cause)
      })
    }
  })
  const inTime = <Result>(work: () => Promise<Result>) => limit(prepared().then(work), LATE)

  return {
    name,
    run: (sql, ...values) => inTime(() => run(sql, values)),
    // One statement at a time writes to a database of SQLite anyway.
    runAlone: (sql, ...values) => inTime(() => run(sql, values)),
    all: async (sql, ...values) => rowsOf(await inTime(() => all(sql, values))),
  }
}
