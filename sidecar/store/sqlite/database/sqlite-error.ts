import { StoreError, type StoreErrorCode } from '../../../errors.ts'

// Result codes of SQLite (https://sqlite.org/rescode.html) and of the file system, with a cause that the operator can
// fix.
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

/**
 * Translates an error of SQLite or the file system for callers of the store. An unexpected error becomes a
 * `store_fault`.
 */
export function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const code = error instanceof Error && 'code' in error ? CODES[String(error.code)] : undefined
  return new StoreError(code ?? 'store_fault', { cause: error })
}
