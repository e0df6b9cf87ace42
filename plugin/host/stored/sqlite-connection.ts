import type { TimeLimit } from '../time-limit.ts'

/** What is used of a `Database` of the package `sqlite3`, version 6. Where several processes write, it needs a `busyTimeout`. */
export interface SqliteConnection {
  run(
    sql: string,
    values: readonly SqliteValue[],
    done: (this: { readonly changes: number }, error: Error | null) => void,
  ): unknown
  all(sql: string, values: readonly SqliteValue[], done: (error: Error | null, rows: unknown[]) => void): unknown
}

export type SqliteValue = string | number | null

/** Single statements, each whole or not at all, whoever else writes. */
export interface SqliteTable {
  /** @returns rows changed */
  run(sql: string, ...values: SqliteValue[]): Promise<number>
  all(sql: string, ...values: SqliteValue[]): Promise<readonly Readonly<Record<string, unknown>>[]>
}

/** @param schema makes the table where it is missing; it is run before the first statement, and again when it failed */
export function openTable(connection: SqliteConnection, schema: string, limit: TimeLimit): SqliteTable {
  let ready: Promise<void> | undefined

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

  function prepared(): Promise<void> {
    ready ??= run(schema, []).then(
      () => undefined,
      (error: unknown) => {
        ready = undefined
        throw error
      },
    )
    return ready
  }

  const inTime = <Result>(work: () => Promise<Result>) =>
    limit(prepared().then(work), 'The database of accounts and groups did not answer in time.')

  return {
    run: (sql, ...values) => inTime(() => run(sql, values)),
    all: async (sql, ...values) => {
      const rows = await inTime(() => all(sql, values))
      return rows.flatMap((row) => (typeof row === 'object' && row !== null ? { ...row } : []))
    },
  }
}

/** A name as SQL takes it. */
export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
