import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StoreError } from '../../../errors.ts'
import type { Connection, DatabaseCopy } from '../database/connection.ts'
import type { Database } from '../database/database.ts'
import { freeBytes } from '../database/database-file.ts'
import { toStoreError } from '../database/sqlite-error.ts'

// A request may have to wait for one slice. 100 pages of a 20 MB file took 1 to 3 ms. VACUUM INTO blocked everything
// for 90 ms, and blocks it for as long as a slow disk takes to write the file.
const SLICE_PAGES = 100
// Synced outside the queue, so that the last slice, which waits for the disk, has little left to wait for.
const SLICES_PER_SYNC = 20
// A backup must leave space for messages.
const LEAVE_FREE_BYTES = 16_000_000

const OWNER_ONLY = 0o600

/** The suffix of a backup that is not complete yet. */
export const PARTIAL = '.part'

/**
 * Copies the database into the new file `path` while it is in use. The file has another name until it is complete and
 * durable. Resolves with its size in bytes. If it fails, or `signal` is aborted, it rejects with a {@link StoreError}
 * and leaves nothing behind.
 */
export async function backUp(
  database: Database,
  connection: Connection,
  path: string,
  signal: AbortSignal,
): Promise<number> {
  const draft = path + PARTIAL
  try {
    await assertRoom(database, path)
    const file = await open(draft, 'wx', OWNER_ONLY)
    try {
      await copyPages(database, connection, file, draft, signal)
      await file.sync()
    } finally {
      await file.close()
    }
    const { size } = await stat(draft)
    await rename(draft, path)
    await syncFolder(dirname(path))
    return size
  } catch (error) {
    for (const leftOver of [draft, `${draft}-journal`]) await rm(leftOver, { force: true }).catch(() => undefined)
    throw toStoreError(error)
  }
}

async function assertRoom(database: Database, path: string): Promise<void> {
  const bytes = await database.read(async (queries) => {
    const [size] = await queries.all<{ bytes: number }>(
      'SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()',
    )
    return size?.bytes ?? 0
  })
  const free = await freeBytes(path)
  if (free < bytes + LEAVE_FREE_BYTES) {
    const cause = new Error(`${bytes} bytes to copy, ${free} free, of which ${LEAVE_FREE_BYTES} are left to others`)
    throw new StoreError('disk_full', { cause })
  }
}

/** Copies slice by slice, each an entry of the queue, so that messages and requests get in between. */
async function copyPages(
  database: Database,
  connection: Connection,
  file: FileHandle,
  draft: string,
  signal: AbortSignal,
): Promise<void> {
  let copy: DatabaseCopy | undefined
  try {
    copy = await database.read(() => connection.copyTo(draft))
    const { step } = copy
    for (let slice = 1; !(await database.read(() => step(SLICE_PAGES))); slice++) {
      signal.throwIfAborted()
      if (slice % SLICES_PER_SYNC === 0) await file.datasync()
    }
  } finally {
    await copy?.finish()
  }
}

/** Makes a rename durable. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
