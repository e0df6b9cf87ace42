import { StoreError, type StoreErrorCode } from '../../../errors.ts'

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
