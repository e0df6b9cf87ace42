import { chown, constants, copyFile, link, mkdir, open, realpath, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StoreError, type StoreErrorCode } from '../../../errors.ts'
import { type Connection, connect } from '../database/connection.ts'
import { IN_MEMORY, restrictFile } from '../database/database-file.ts'
import { demandVersion, fileVersion } from '../database/migrations.ts'
import { toStoreError } from '../database/sqlite-error.ts'
import { syncFolder } from './backup.ts'

/** The result of a restore: the numbers of restored stations and messages, and the path of the former database. */
export interface Restored {
  readonly stations: number
  readonly messages: number
  /** The path of the former database's file, which is kept; undefined if there was no database. */
  readonly keptPath: string | undefined
}

/** The error of a restore that failed before it changed anything. `remedy` tells the operator what to do. */
export class RestoreError extends Error {
  override readonly name = 'RestoreError'
  readonly remedy: string
  /** The code of the {@link StoreError} that caused this error; undefined if another error did. */
  readonly code: StoreErrorCode | undefined

  constructor(message: string, remedy: string, options: ErrorOptions & { readonly code?: StoreErrorCode } = {}) {
    super(message, options)
    this.remedy = remedy
    this.code = options.code
  }
}

/**
 * Messages for faults in a backup file, by error code. For faults in the database itself, the same codes have other
 * messages.
 */
const BACKUP_FAULTS: Readonly<Partial<Record<StoreErrorCode, readonly [fault: string, remedy: string]>>> = {
  database_corrupt: ['is damaged, or is not a database', 'Name another backup.'],
  database_foreign: ['was not written by the sidecar', 'Name a file that the sidecar wrote to backup.folder.'],
  database_outdated: ['was made by a version of the sidecar that is too old to be upgraded', 'Name a newer backup.'],
  database_newer: [
    'was made by a newer version of the sidecar',
    'Install that version again, or name an older backup.',
  ],
}

// Suffixes of the files that SQLite keeps beside a database. If such a file remains after the database is replaced,
// SQLite applies it to the new database.
const COMPANIONS = ['-wal', '-journal', '-shm'] as const

const FOLDER_OWNER_ONLY = 0o700

/**
 * Limit for how far stamps are ahead of the clock, in milliseconds. Usually it is half a minute. Needed if the former
 * stamps cannot be read.
 */
const STAMPS_AHEAD_MS = 60_000

/**
 * Replaces the file `database` by the backup `source`, and keeps the former file beside it. New stamps are above all
 * former ones, so that no phone's cursor is ahead of them.
 *
 * Rejects with a {@link RestoreError} if the backup is not sound, or a {@link StoreError}: `database_locked` while a
 * sidecar has the database open, `database_foreign` if it is another program's.
 */
export async function restoreDatabase(source: string, database: string, now: number): Promise<Restored> {
  if (database === IN_MEMORY) throw new RestoreError('"database" is in memory.', 'Name a file in "database".')
  // If `database` is a symbolic link, the restore replaces the target of the link, not the link.
  const path = await realpath(database).catch(() => database)
  await assertIsFile(source, path)
  const draft = `${path}.restoring`
  const keptPath = `${path}.before-restore-${new Date(now).toISOString().replaceAll(/[-:.]/g, '')}`
  const former = await claimFormer(path, keptPath)
  const folders: string[] = []
  let isKeeping = false
  try {
    await makeFolder(dirname(path), folders)
    await discard(draft)
    const contents = await copyAndCheck(source, draft, Math.max(former.reserved, now + STAMPS_AHEAD_MS)).catch(
      (error) => {
        throw faultOf(source, error)
      },
    )
    await giveTo(former.exists ? path : dirname(path), draft)
    isKeeping = true
    if (former.exists) await keep(path, keptPath)
    // If the database file was lost, its log may still exist. SQLite would apply that log to the backup.
    for (const suffix of COMPANIONS) await rm(path + suffix, { force: true })
    await rename(draft, path)
    await syncFolder(dirname(path))
    return { ...contents, keptPath: former.exists ? keptPath : undefined }
  } catch (error) {
    await discard(draft).catch(() => undefined)
    if (!isKeeping) await discard(keptPath).catch(() => undefined)
    for (const folder of folders.toReversed()) await rmdir(folder).catch(() => undefined)
    throw error instanceof RestoreError ? error : toStoreError(error)
  } finally {
    await former.release()
  }
}

async function assertIsFile(source: string, path: string): Promise<void> {
  const file = await realpath(source).catch((error: NodeJS.ErrnoException) => {
    throw new RestoreError(`The backup ${source} cannot be read (${error.code}).`, 'Name a backup.', { cause: error })
  })
  if (!(await stat(file)).isFile()) throw new RestoreError(`The backup ${source} is not a file.`, 'Name a backup.')
  if (file === path) throw new RestoreError(`${source} is the database itself.`, 'Name a backup.')
}

const HELD = `
  SELECT (SELECT count(*) FROM station) AS stations,
    (SELECT coalesce(sum(min(held, per_station)), 0)
      FROM (SELECT count(*) AS held FROM message WHERE time > 0 GROUP BY station), state) AS messages`

interface Former {
  readonly exists: boolean
  /** An upper limit of the stamps that the former database issued. */
  readonly reserved: number
  /** Releases the lock on the former database. Never rejects. */
  release(): Promise<void>
}

/** Locks the former database and checkpoints its log, or keeps the log if the database is missing or unreadable. */
async function claimFormer(path: string, keptPath: string): Promise<Former> {
  const file = await stat(path).catch(() => undefined)
  if (file && !file.isFile())
    throw new RestoreError(`"database" names ${path}, which is not a file.`, 'Correct "database".')
  // The log may contain messages that the file lacks. SQLite would delete it if the file is damaged. A missing file may
  // be found later.
  for (const suffix of COMPANIONS) await copyFile(path + suffix, keptPath + suffix).catch(() => undefined)
  if (!file) return { exists: false, reserved: 0, release: async () => {} }
  let connection: Connection | undefined
  try {
    connection = await connect(path, 0)
    await connection.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT')
    await fileVersion(connection)
    const [state] = await connection.all<{ reserved: number }>('SELECT reserved_time AS reserved FROM state')
    // Leaving WAL mode checkpoints the log into the file and deletes the log.
    await connection.exec('PRAGMA journal_mode = DELETE')
    await discard(keptPath)
    const { close } = connection
    return { exists: true, reserved: state?.reserved ?? 0, release: () => close().catch(() => undefined) }
  } catch (error) {
    await connection?.close().catch(() => undefined)
    const fault = toStoreError(error)
    if (fault.code === 'database_locked' || fault.code === 'database_foreign') {
      await discard(keptPath)
      throw fault
    }
    // A damaged database may be the reason for the restore. It is not locked, so not in use. Its newest stamp is near
    // its modification time.
    return { exists: true, reserved: Math.floor(file.mtimeMs) + STAMPS_AHEAD_MS, release: async () => {} }
  }
}

/**
 * Creates a missing folder with the owner of its parent folder, for example on a new machine. Adds each folder that it
 * creates to `created`.
 */
async function makeFolder(folder: string, created: string[]): Promise<void> {
  const existing = await stat(folder).catch(() => undefined)
  if (existing || dirname(folder) === folder) return
  await makeFolder(dirname(folder), created)
  await mkdir(folder, { mode: FOLDER_OWNER_ONLY })
  created.push(folder)
  await giveTo(dirname(folder), folder)
}

function faultOf(source: string, error: unknown): Error {
  const fault = toStoreError(error)
  const [description, remedy] = BACKUP_FAULTS[fault.code] ?? []
  if (!description || !remedy) return fault
  return new RestoreError(`The backup ${source} ${description}.`, remedy, { cause: error, code: fault.code })
}

/** Copies the backup to `draft`, checks it, reserves all stamps up to `reserved`, and makes it durable. */
async function copyAndCheck(
  source: string,
  draft: string,
  reserved: number,
): Promise<{ readonly stations: number; readonly messages: number }> {
  await copyFile(source, draft, constants.COPYFILE_EXCL)
  await restrictFile(draft)
  // A backup made by the sidecar has no write-ahead log, but a file copied by hand from a running sidecar may have one.
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
  const [row] = await connection.all<{ integrity_check: string }>('PRAGMA integrity_check(1)')
  const verdict = row?.integrity_check
  if (verdict !== 'ok') throw new StoreError('database_corrupt', { cause: new Error(verdict) })
}

/**
 * Gives `draft` the owner and group of `example`. Otherwise the sidecar could not open a database that root restored.
 */
async function giveTo(example: string, draft: string): Promise<void> {
  const [{ uid, gid }, owner] = await Promise.all([stat(example), stat(draft)])
  if (uid !== owner.uid || gid !== owner.gid) await chown(draft, uid, gid)
}

/**
 * Makes the former database available at `keptPath`. It also stays at `path`, so that a start always finds a database
 * there.
 */
async function keep(path: string, keptPath: string): Promise<void> {
  // On file systems without hard links, copies the file instead.
  await link(path, keptPath).catch(() => copyFile(path, keptPath, constants.COPYFILE_EXCL))
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
