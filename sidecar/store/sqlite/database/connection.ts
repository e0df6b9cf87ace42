import type sqlite3 from 'sqlite3'
import { StoreError } from '../../../errors.ts'

declare module 'sqlite3' {
  interface Database {
    // Not in its types: https://github.com/TryGhost/node-sqlite3/wiki/API#databasebackupfilename-callback
    backup(path: string, done: (error: Error | null) => void): OnlineBackup
  }
}

interface OnlineBackup {
  step(pages: number, done: (error: Error | null, complete?: boolean) => void): void
  finish(done: () => void): void
}

export type SqlValue = string | number | Buffer | null

/** What runs SQL. Statements are prepared once and kept, so `sql` has to be a constant. */
export interface Queries {
  all<Row>(sql: string, ...values: readonly SqlValue[]): Promise<readonly Row[]>
}

/**
 * One SQLite connection behind promises; SQLite's own threads are those of libuv's pool. Rejects with SQLite's errors.
 */
export interface Connection extends Queries {
  /** Runs several statements that take no values. */
  exec(sql: string): Promise<void>
  /**
   * Begins a copy of the whole database in the file `path`, which has to be empty. To be finished before {@link close}.
   */
  copyTo(path: string): Promise<DatabaseCopy>
  close(): Promise<void>
}

/** A copy in the making (https://sqlite.org/backup.html). What this connection writes meanwhile goes into it too. */
export interface DatabaseCopy {
  /** Copies so many pages more; says whether the copy is complete, and then it is durable. */
  step(pages: number): Promise<boolean>
  /** Lets go of the file, be the copy complete or not. Never rejects. */
  finish(): Promise<void>
}

/**
 * Opens `path` for reading and writing, creating it where it is missing; a lock of somebody else is waited for at most
 * `busyMs`. Rejects with `sqlite_missing` where SQLite's library is not there.
 */
export async function connect(path: string, busyMs: number): Promise<Connection> {
  const sqlite3 = await loadSqlite()
  const handle = await new Promise<sqlite3.Database>((resolve, reject) => {
    const opened = new sqlite3.Database(path, (error) => (error ? reject(error) : resolve(opened)))
  })
  handle.configure('busyTimeout', busyMs)
  const statements = new Map<string, Promise<sqlite3.Statement>>()

  function prepared(sql: string): Promise<sqlite3.Statement> {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const made = new Promise<sqlite3.Statement>((resolve, reject) => {
      const statement = handle.prepare(sql, (error: Error | null) => (error ? reject(error) : resolve(statement)))
    })
    statements.set(sql, made)
    made.catch(() => statements.delete(sql))
    return made
  }

  return {
    async all<Row>(sql: string, ...values: readonly SqlValue[]) {
      const statement = await prepared(sql)
      // Never `get`: it leaves the statement standing on its row, and with it a read transaction open.
      return new Promise<readonly Row[]>((resolve, reject) => {
        statement.all<Row>(values, (error, rows) => (error ? reject(error) : resolve(rows)))
      })
    },
    exec: (sql) =>
      new Promise((resolve, reject) => {
        handle.exec(sql, (error) => (error ? reject(error) : resolve()))
      }),
    async copyTo(path) {
      const copy = await new Promise<OnlineBackup>((resolve, reject) => {
        const begun = handle.backup(path, (error) => (error ? reject(error) : resolve(begun)))
      })
      return {
        step: (pages) =>
          new Promise((resolve, reject) => {
            copy.step(pages, (error, complete = false) => (error ? reject(error) : resolve(complete)))
          }),
        finish: () => new Promise((resolve) => copy.finish(() => resolve())),
      }
    },
    async close() {
      // SQLite does not close while a prepared statement is left.
      for (const made of statements.values()) {
        const statement = await made.catch(() => undefined)
        if (statement) await new Promise<void>((resolve) => statement.finalize(() => resolve()))
      }
      statements.clear()
      await new Promise<void>((resolve, reject) => {
        handle.close((error) => (error ? reject(error) : resolve()))
      })
    },
  }
}

/**
 * Here and not above, so that whoever starts without it is told what to do, instead of a list of places where it is
 * not.
 */
async function loadSqlite(): Promise<typeof sqlite3> {
  try {
    return (await import('sqlite3')).default
  } catch (cause) {
    throw new StoreError('sqlite_missing', { cause })
  }
}
