import type sqlite3 from 'sqlite3'
import { StoreError } from '../../../errors.ts'

declare module 'sqlite3' {
  interface Database {
    // The library's types lack this method:
    // https://github.com/TryGhost/node-sqlite3/wiki/API#databasebackupfilename-callback
    backup(path: string, done: (error: Error | null) => void): OnlineBackup
  }
}

interface OnlineBackup {
  step(pages: number, done: (error: Error | null, complete?: boolean) => void): void
  finish(done: () => void): void
}

export type SqlValue = string | number | Buffer | null

/** Runs SQL. Each statement is prepared once and cached until the connection closes, so `sql` must be a constant. */
export interface Queries {
  all<Row>(sql: string, ...values: readonly SqlValue[]): Promise<readonly Row[]>
}

/**
 * One SQLite connection with promises. Its statements run in the thread pool of libuv. Methods reject with SQLite's
 * errors.
 */
export interface Connection extends Queries {
  /** Runs several statements that have no parameters. */
  exec(sql: string): Promise<void>
  /**
   * Begins to copy the whole database into the file `path`, which must be empty. Call `finish` before {@link close}.
   */
  copyTo(path: string): Promise<DatabaseCopy>
  close(): Promise<void>
}

/** A copy in progress (https://sqlite.org/backup.html). The copy includes what this connection writes meanwhile. */
export interface DatabaseCopy {
  /** Copies up to `pages` more pages. Resolves with true once the copy is complete and durable. */
  step(pages: number): Promise<boolean>
  /** Releases the file, whether or not the copy is complete. Never rejects. */
  finish(): Promise<void>
}

/**
 * Opens or creates `path`. Waits at most `busyMs` for the lock of another process. Rejects with `sqlite_missing`
 * without `sqlite3`.
 */
export async function connect(path: string, busyMs: number): Promise<Connection> {
  const sqlite3 = await loadSqlite()
  const handle = await new Promise<sqlite3.Database>((resolve, reject) => {
    const opened = new sqlite3.Database(path, (error) => (error ? reject(error) : resolve(opened)))
  })
  handle.configure('busyTimeout', busyMs)
  const statements = new Map<string, Promise<sqlite3.Statement>>()

  function prepared(sql: string): Promise<sqlite3.Statement> {
    const existing = statements.get(sql)
    if (existing !== undefined) return existing
    const preparing = new Promise<sqlite3.Statement>((resolve, reject) => {
      const statement = handle.prepare(sql, (error: Error | null) => (error ? reject(error) : resolve(statement)))
    })
    statements.set(sql, preparing)
    preparing.catch(() => statements.delete(sql))
    return preparing
  }

  return {
    async all<Row>(sql: string, ...values: readonly SqlValue[]) {
      const statement = await prepared(sql)
      // Never use `get`: it does not reset the statement, which keeps a read transaction open.
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
      // SQLite does not close while it has prepared statements.
      for (const preparing of statements.values()) {
        const statement = await preparing.catch(() => undefined)
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
 * Imports `sqlite3` on demand. If the package is missing, the operator gets an error with a remedy instead of Node.js's
 * own.
 */
async function loadSqlite(): Promise<typeof sqlite3> {
  try {
    return (await import('sqlite3')).default
  } catch (cause) {
    throw new StoreError('sqlite_missing', { cause })
  }
}
