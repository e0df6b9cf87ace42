import type { TimeLimit } from '../time-limit.ts'
import { onceResolved } from './once-resolved.ts'
import { quotedName } from './pg-table.ts'
import { LATE, rowsOf, type SqlTable, type SqlValue } from './sql-table.ts'

/** The methods that the plugin calls, as in `Database` of `sqlite3` 6. Set `busyTimeout` if several processes write. */
export interface SqliteConnection {
  run(
    sql: string,
    values: readonly SqliteValue[],
    done: (this: { readonly changes: number }, error: Error | null) => void,
  ): unknown
  all(sql: string, values: readonly SqliteValue[], done: (error: Error | null, rows: unknown[]) => void): unknown
}

export type SqliteValue = SqlValue

/** Opens a table of SQLite. The first statement creates the table if it is missing. */
export function sqliteTable(connection: SqliteConnection, table: string, columns: string, limit: TimeLimit): SqlTable {
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
  const prepared = onceResolved(() => run(`CREATE TABLE IF NOT EXISTS ${name} (${columns}) STRICT, WITHOUT ROWID`, []))
  const inTime = <Result>(work: () => Promise<Result>) => limit(prepared().then(work), LATE)

  return {
    name,
    run: (sql, ...values) => inTime(() => run(sql, values)),
    // This method needs no lock, because SQLite itself executes one writing statement at a time.
    runAlone: (sql, ...values) => inTime(() => run(sql, values)),
    all: async (sql, ...values) => rowsOf(await inTime(() => all(sql, values))),
  }
}
