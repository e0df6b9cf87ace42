import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StoreError } from '../../../errors.ts'
import type { Connection, DatabaseCopy } from '../database/connection.ts'
import type { Database } from '../database/database.ts'
import { freeBytes } from '../database/database-file.ts'
import { toStoreError } from '../database/sqlite-error.ts'

// Pages per slice of a backup. A slice delays requests by 1 to 3 ms (file of 20 MB). VACUUM INTO would block them for
// the whole file, 90 ms or more.
const SLICE_PAGES = 100
// Number of slices between two syncs to disk. Only the last slice blocks the queue while it syncs. Syncing earlier
// leaves little for it.
const SLICES_PER_SYNC = 20
// Free space in bytes that a backup must leave for messages.
const LEAVE_FREE_BYTES = 16_000_000

const OWNER_ONLY = 0o600

/** The file suffix of an incomplete backup. */
export const PARTIAL = '.part'

/**
 * Copies the open database into the new file `path`. Resolves with its size in bytes. On failure or abort, rejects with
 * a {@link StoreError} and leaves no file.
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
    const cause = new Error(
      `the backup needs ${bytes} bytes, and ${LEAVE_FREE_BYTES} bytes must stay free, but only ${free} bytes are free`,
    )
    throw new StoreError('disk_full', { cause })
  }
}

/**
 * Copies the database slice by slice. Each slice is an entry of the database's queue, so messages and requests are
 * served between slices.
 */
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

/** Syncs a folder, which makes a rename in it durable. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
