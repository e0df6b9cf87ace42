import { access, constants, mkdtemp, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { StoreError } from '../../errors.ts'
import { connect } from './database/connection.ts'
import { IN_MEMORY } from './database/database-file.ts'
import { demandVersion } from './database/migrations.ts'
import { checkPages, openFile } from './database/open-file.ts'
import { toStoreError } from './database/sqlite-error.ts'

/**
 * The state of a database:
 * - `new`: it does not exist yet.
 * - `sound`: a start can open it.
 * - `in_use`: another process has it open, so nothing else was checked.
 */
export type Inspection = 'new' | 'sound' | 'in_use'

/** Checks whether the store at `path` can be opened, and changes nothing. Rejects with the same {@link StoreError}. */
export async function inspectDatabase(path: string): Promise<Inspection> {
  if (path === IN_MEMORY) return 'new'
  try {
    const file = await stat(path).catch(orNothing)
    const inspection = file ? await inspectFile(path, file.isFile(), file.size) : 'new'
    if (inspection === 'new') await tryFolder(dirname(path), makeDatabase)
    return inspection
  } catch (error) {
    const fault = toStoreError(error)
    if (fault.code === 'database_locked') return 'in_use'
    throw fault
  }
}

async function inspectFile(path: string, isFile: boolean, size: number): Promise<Inspection> {
  if (!isFile) throw new StoreError('database_not_writable', { cause: new Error(`${path} is not a file`) })
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
    // No other process can have locked this new file. So the file system does not support locks.
    if (toStoreError(error).code !== 'database_locked') throw error
    throw new StoreError('disk_failing', { cause: new Error('its file system does not support file locks') })
  }
}

/**
 * Runs `work` in a temporary folder below `folder` or its nearest existing ancestor. Rejects if no folder can be
 * created, or if `work` rejects. Only a trial shows this: /proc refuses folders despite its permissions, and a quota
 * may be used up.
 */
export async function tryFolder(folder: string, work: (trial: string) => Promise<void>): Promise<void> {
  const existing = await stat(folder).catch(orNothing)
  if (!existing && dirname(folder) !== folder) return tryFolder(dirname(folder), work)
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
