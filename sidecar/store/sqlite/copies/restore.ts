import { chown, constants, copyFile, link, mkdir, open, realpath, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StoreError, type StoreErrorCode } from '../../../errors.ts'
import { type Connection, connect } from '../database/connection.ts'
import { IN_MEMORY, restrictFile } from '../database/database-file.ts'
import { demandVersion, fileVersion } from '../database/migrations.ts'
import { toStoreError } from '../database/sqlite-error.ts'
import { syncFolder } from './backup.ts'

/** What is in the database now, and where the former one is. */
export interface Restored {
  readonly stations: number
  readonly messages: number
  /** Undefined when there was no former one. */
  readonly kept: string | undefined
}

/** Nothing was restored, and nothing changed; `remedy` is what the operator should do. */
export class RestoreError extends Error {
  override readonly name = 'RestoreError'
  readonly remedy: string
  /** Of the {@link StoreError} behind it, where there is one. */
  readonly code: StoreErrorCode | undefined

  constructor(message: string, remedy: string, options: ErrorOptions & { readonly code?: StoreErrorCode } = {}) {
    super(message, options)
    this.remedy = remedy
    this.code = options.code
  }
}

/** What is wrong with a backup, which the store's own words would say of the database. */
const BACKUP_FAULTS: Readonly<Partial<Record<StoreErrorCode, readonly [what: string, remedy: string]>>> = {
  database_corrupt: ['is damaged, or no database', 'Name another one.'],
  database_foreign: ['is not one of ours', 'Name a file that this sidecar wrote to backup.folder.'],
  database_outdated: ['was made by a version of the sidecar that is too old to be upgraded', 'Name a newer backup.'],
  database_newer: [
    'was made by a newer version of the sidecar',
    'Install that version again, or name an older backup.',
  ],
}

// What belongs to a SQLite file by its name. One that is left beside another file would be taken for that one's.
const COMPANIONS = ['-wal', '-journal', '-shm'] as const

const FOLDER_OWNER_ONLY = 0o700

/**
 * Stamps may be ahead of the clock by half a minute, and a burst; what was issued after the backup was made, and after
 * the former database, if that cannot be read any more, is at most as far ahead of now. In milliseconds.
 */
const STAMPS_AHEAD_MS = 60_000

/**
 * Puts the backup `source` in the place of the file `database`, which is kept beside it. The backup itself is only
 * read. From then on stamps are above every one that was issued before, so that no client's cursor is ahead of what
 * comes.
 *
 * Rejects with a {@link RestoreError} when the backup is none of ours that is whole; with a {@link StoreError} when the
 * database cannot be replaced: `database_locked` while a sidecar has it open, `database_foreign` when it belongs to
 * something else.
 */
export async function restoreDatabase(source: string, database: string, now: number): Promise<Restored> {
  if (database === IN_MEMORY) throw new RestoreError('"database" is in memory.', 'Name a file in "database".')
  // What a link leads to is replaced, and not the link.
  const path = await realpath(database).catch(() => database)
  await assertIsFile(source, path)
  const draft = `${path}.restoring`
  const kept = `${path}.before-restore-${new Date(now).toISOString().replaceAll(/[-:.]/g, '')}`
  const former = await claimFormer(path, kept)
  const folders: string[] = []
  let keeping = false
  try {
    await makeFolder(dirname(path), folders)
    await discard(draft)
    const held = await copyAndCheck(source, draft, Math.max(former.reserved, now + STAMPS_AHEAD_MS)).catch((error) => {
      throw faultOf(source, error)
    })
    await giveTo(former.exists ? path : dirname(path), draft)
    keeping = true
    if (former.exists) await keep(path, kept)
    // Gone with a crash, a database leaves its log, which SQLite would take for that of the backup.
    for (const suffix of COMPANIONS) await rm(path + suffix, { force: true })
    await rename(draft, path)
    await syncFolder(dirname(path))
    return { ...held, kept: former.exists ? kept : undefined }
  } catch (error) {
    await discard(draft).catch(() => undefined)
    if (!keeping) await discard(kept).catch(() => undefined)
    for (const folder of folders.toReversed()) await rmdir(folder).catch(() => undefined)
    throw error instanceof RestoreError ? error : toStoreError(error)
  } finally {
    await former.release()
  }
}

async function assertIsFile(source: string, path: string): Promise<void> {
  const found = await realpath(source).catch((error: NodeJS.ErrnoException) => {
    throw new RestoreError(`The backup ${source} cannot be read (${error.code}).`, 'Name a backup.', { cause: error })
  })
  if (!(await stat(found)).isFile()) throw new RestoreError(`The backup ${source} is no file.`, 'Name a backup.')
  if (found === path) throw new RestoreError(`${source} is the database itself.`, 'Name a backup.')
}

const HELD = `
  SELECT (SELECT count(*) FROM station) AS stations,
    (SELECT coalesce(sum(min(held, per_station)), 0)
      FROM (SELECT count(*) AS held FROM message WHERE time > 0 GROUP BY station), state) AS messages`

interface Former {
  readonly exists: boolean
  /** No stamp above it was issued by it; 0 when it cannot be read. */
  readonly reserved: number
  /** Lets go of its lock. Never rejects. */
  release(): Promise<void>
}

/**
 * Keeps every sidecar from opening the former database until it is replaced, and takes its log into it. Where it cannot
 * be read, or is gone, its log is kept beside `kept` instead.
 */
async function claimFormer(path: string, kept: string): Promise<Former> {
  const found = await stat(path).catch(() => undefined)
  if (found && !found.isFile())
    throw new RestoreError(`"database" names ${path}, which is no file.`, 'Correct "database".')
  // SQLite throws a log away that does not fit a damaged file, and there may be something in it. So there may be in one
  // whose file is gone: it may come back.
  for (const suffix of COMPANIONS) await copyFile(path + suffix, kept + suffix).catch(() => undefined)
  if (!found) return { exists: false, reserved: 0, release: async () => {} }
  let connection: Connection | undefined
  try {
    connection = await connect(path, 0)
    await connection.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT')
    await fileVersion(connection)
    const [state] = await connection.all<{ reserved: number }>('SELECT reserved_time AS reserved FROM state')
    // In this mode the log goes into the file, and nothing of it is left beside it.
    await connection.exec('PRAGMA journal_mode = DELETE')
    await discard(kept)
    const { close } = connection
    return { exists: true, reserved: state?.reserved ?? 0, release: () => close().catch(() => undefined) }
  } catch (error) {
    await connection?.close().catch(() => undefined)
    const fault = toStoreError(error)
    if (fault.code === 'database_locked' || fault.code === 'database_foreign') {
      await discard(kept)
      throw fault
    }
    // Damaged: that may be why a backup is wanted. Nobody has it open, or it would be locked. Whoever wrote last did so
    // by the clock of then.
    return { exists: true, reserved: Math.floor(found.mtimeMs) + STAMPS_AHEAD_MS, release: async () => {} }
  }
}

/**
 * As a start does where it is missing, as on a new machine; for whoever has the folder above it. Those that it makes
 * are added to `made`.
 */
async function makeFolder(folder: string, made: string[]): Promise<void> {
  const found = await stat(folder).catch(() => undefined)
  if (found || dirname(folder) === folder) return
  await makeFolder(dirname(folder), made)
  await mkdir(folder, { mode: FOLDER_OWNER_ONLY })
  made.push(folder)
  await giveTo(dirname(folder), folder)
}

function faultOf(source: string, error: unknown): Error {
  const fault = toStoreError(error)
  const [what, remedy] = BACKUP_FAULTS[fault.code] ?? []
  if (!what || !remedy) return fault
  return new RestoreError(`The backup ${source} ${what}.`, remedy, { cause: error, code: fault.code })
}

/** The checked copy in `draft`, durable and alone, with all stamps up to `reserved` taken. */
async function copyAndCheck(
  source: string,
  draft: string,
  reserved: number,
): Promise<{ readonly stations: number; readonly messages: number }> {
  await copyFile(source, draft, constants.COPYFILE_EXCL)
  await restrictFile(draft)
  // Ours have none; one that somebody copied while a sidecar was at work may.
  await copyFile(`${source}-wal`, `${draft}-wal`).catch(() => undefined)
  const connection = await connect(draft, 0)
  try {
    await connection.exec('PRAGMA locking_mode = EXCLUSIVE')
    if ((await demandVersion(connection)) === 0) throw new StoreError('database_foreign')
    await assertWhole(connection)
    await connection.exec('PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE')
    await connection.all('UPDATE state SET reserved_time = max(reserved_time, ?)', reserved)
    const [held] = await connection.all<{ stations: number; messages: number }>(HELD)
    return held ?? { stations: 0, messages: 0 }
  } finally {
    await connection.close()
    await syncFile(draft)
  }
}

async function assertWhole(connection: Connection): Promise<void> {
  const [found] = await connection.all<{ integrity_check: string }>('PRAGMA integrity_check(1)')
  const verdict = found?.integrity_check
  if (verdict !== 'ok') throw new StoreError('database_corrupt', { cause: new Error(verdict) })
}

/** Restored by an administrator, it still has to be the sidecar's. */
async function giveTo(example: string, draft: string): Promise<void> {
  const [{ uid, gid }, own] = await Promise.all([stat(example), stat(draft)])
  if (uid !== own.uid || gid !== own.gid) await chown(draft, uid, gid)
}

/** Under another name beside it; its own is still there, so that at no moment a start would find nothing. */
async function keep(path: string, kept: string): Promise<void> {
  // File systems without hard links take a copy.
  await link(path, kept).catch(() => copyFile(path, kept, constants.COPYFILE_EXCL))
}

async function discard(path: string): Promise<void> {
  for (const suffix of ['', ...COMPANIONS]) await rm(path + suffix, { force: true })
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r+')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
