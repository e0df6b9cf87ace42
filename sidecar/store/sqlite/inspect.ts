import { access, constants, mkdtemp, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { StoreError } from '../../errors.ts'
import { connect } from './database/connection.ts'
import { IN_MEMORY } from './database/database-file.ts'
import { demandVersion } from './database/migrations.ts'
import { checkPages, openFile } from './database/open-file.ts'
import { toStoreError } from './database/sqlite-error.ts'

/**
 * A database that is not there yet, one that a start could open, or one that another process has open, so that nothing
 * is known.
 */
export type Inspection = 'new' | 'sound' | 'in_use'

/**
 * What opening the store at `path` would find, without making, upgrading or keeping anything. Rejects with the same
 * {@link StoreError}, `database_locked` excepted.
 */
export async function inspectDatabase(path: string): Promise<Inspection> {
  if (path === IN_MEMORY) return 'new'
  try {
    const found = await stat(path).catch(orNothing)
    const inspection = found ? await inspectFile(path, found.isFile(), found.size) : 'new'
    if (inspection === 'new') await tryFolder(dirname(path), makeDatabase)
    return inspection
  } catch (error) {
    const fault = toStoreError(error)
    if (fault.code === 'database_locked') return 'in_use'
    throw fault
  }
}

async function inspectFile(path: string, isFile: boolean, size: number): Promise<Inspection> {
  if (!isFile) throw new StoreError('database_not_writable', { cause: new Error(`${path} is no file`) })
  await access(path, constants.R_OK | constants.W_OK)
  if (size === 0) return 'new'
  const connection = await connect(path, 0)
  try {
    await connection.exec('PRAGMA locking_mode = EXCLUSIVE')
    await demandVersion(connection)
    await checkPages(connection)
    return 'sound'
  } finally {
    await connection.close()
  }
}

async function makeDatabase(folder: string): Promise<void> {
  try {
    const connection = await openFile(join(folder, 'sidecar.sqlite'))
    await connection.close()
  } catch (error) {
    // Nobody else knows of it.
    if (toStoreError(error).code !== 'database_locked') throw error
    throw new StoreError('disk_failing', { cause: new Error('its file system locks no files') })
  }
}

/**
 * Does `work` in a folder that is made in `folder`, or, where that is missing, in the nearest one above it, and is gone
 * when this resolves. Rejects when none can be made, and with what `work` does. Permissions and free space say neither:
 * /proc takes none from anybody, and a quota may be used up.
 */
export async function tryFolder(folder: string, work: (trial: string) => Promise<void>): Promise<void> {
  const found = await stat(folder).catch(orNothing)
  if (!found && dirname(folder) !== folder) return tryFolder(dirname(folder), work)
  const trial = await mkdtemp(join(folder, '.mesh-companion-check-'))
  try {
    await work(trial)
  } finally {
    await rm(trial, { recursive: true })
  }
}

function orNothing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
