/** What can go wrong with the store: what it means, and what the operator should do. Codes are never renamed or reused. */
export const STORE_FAULTS = {
  database_locked: {
    what: 'Another process has the database open.',
    remedy: 'Stop that process, or give this sidecar a file of its own in "database". Two cannot share one.',
  },
  database_corrupt: {
    what: 'The database file is damaged.',
    remedy:
      'Keep a copy of the file and restore a backup, or move it away to start empty: clients register again at their next heartbeat, within 6 hours.',
  },
  database_foreign: {
    what: 'The file is a SQLite database, but not one of ours.',
    remedy: 'Point "database" at another path. The file was not changed.',
  },
  database_newer: {
    what: 'The database was written by a newer version of the sidecar.',
    remedy: 'Install that version again, or restore the backup made before the upgrade. The file was not changed.',
  },
  database_not_writable: {
    what: 'The database file cannot be opened for writing.',
    remedy: 'Let the user that runs the sidecar read and write the file in "database" and the folder it is in.',
  },
  disk_full: {
    what: 'There is no space left for the database.',
    remedy: 'Free space on its disk. Writing goes on by itself as soon as there is some.',
  },
  disk_failing: {
    what: 'The disk refused to read or write the database.',
    remedy: 'Look at the system log for faults of the disk or its file system.',
  },
  sqlite_missing: {
    what: "SQLite's library is missing, or was made for another system or version of Node.",
    remedy:
      'Run "npm rebuild sqlite3" where the package is installed: npm does what is missing there only if it may run install scripts.',
  },
  store_overloaded: {
    what: 'More is waiting for the database than it can take.',
    remedy: 'Look for a slow disk, or for a flood of messages or requests.',
  },
  store_closed: { what: 'The store is closed.', remedy: 'Nothing to do while the sidecar stops.' },
  store_fault: {
    what: 'The database refused a statement.',
    remedy: 'This is a bug in the sidecar: please report it with the log line.',
  },
} as const

export type StoreErrorCode = keyof typeof STORE_FAULTS

/** Thrown by everything in the store; `cause` is what SQLite or the file system said. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
  readonly code: StoreErrorCode
  /** What the operator should do, in a sentence or two. */
  readonly remedy: string

  constructor(code: StoreErrorCode, options?: ErrorOptions) {
    super(STORE_FAULTS[code].what, options)
    this.code = code
    this.remedy = STORE_FAULTS[code].remedy
  }
}

// SQLite's result codes (https://sqlite.org/rescode.html) and the file system's, as far as they say whose fault it is.
const CODES: Readonly<Record<string, StoreErrorCode>> = {
  SQLITE_BUSY: 'database_locked',
  SQLITE_LOCKED: 'database_locked',
  SQLITE_CORRUPT: 'database_corrupt',
  SQLITE_NOTADB: 'database_corrupt',
  SQLITE_READONLY: 'database_not_writable',
  SQLITE_CANTOPEN: 'database_not_writable',
  SQLITE_PERM: 'database_not_writable',
  SQLITE_FULL: 'disk_full',
  SQLITE_IOERR: 'disk_failing',
  EACCES: 'database_not_writable',
  EPERM: 'database_not_writable',
  EROFS: 'database_not_writable',
  EISDIR: 'database_not_writable',
  ENOTDIR: 'database_not_writable',
  ENOENT: 'database_not_writable',
  EEXIST: 'database_not_writable',
  ELOOP: 'database_not_writable',
  ENAMETOOLONG: 'database_not_writable',
  ENOSPC: 'disk_full',
  EDQUOT: 'disk_full',
  EIO: 'disk_failing',
}

/** The error as callers of the store see it. What nobody foresaw is a `store_fault`. */
export function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const code = error instanceof Error && 'code' in error ? CODES[String(error.code)] : undefined
  return new StoreError(code ?? 'store_fault', { cause: error })
}
