import { access, chmod, constants, open, stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeFolder } from '../../make-folder.ts'

/** The path that means a database in memory, which is gone when it is closed. */
export const IN_MEMORY = ':memory:'

// With push tokens and the keys of the app, anyone could send notifications. No other user of the machine may read
// them.
const OWNER_ONLY = 0o600

/**
 * Creates a missing file and its folder, and checks that the file can be written. Rejects with the error of the file
 * system. SQLite would hide that error: it opens such a file for reading, and only the first write fails.
 */
export async function prepareFile(path: string): Promise<void> {
  if (path === IN_MEMORY) return
  await makeFolder(dirname(path))
  try {
    const created = await open(path, 'ax', OWNER_ONLY)
    await created.close()
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error
    // Does not open the file: with POSIX, a process loses its locks on a file when it closes any handle on it.
    await access(path, constants.R_OK | constants.W_OK)
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

/** Removes the permissions of other users from an existing file. SQLite applies the same to its write-ahead log. */
export async function restrictFile(path: string): Promise<void> {
  if (path === IN_MEMORY) return
  for (const file of [path, `${path}-wal`]) {
    const mode = await stat(file).then(
      (status) => status.mode & 0o777,
      () => OWNER_ONLY, // no log yet
    )
    if (mode !== OWNER_ONLY) await chmod(file, OWNER_ONLY)
  }
}

/** Free bytes of the disk with the file; NaN for a database in memory. */
export async function freeBytes(path: string): Promise<number> {
  if (path === IN_MEMORY) return Number.NaN
  const { bavail, bsize } = await statfs(dirname(path))
  return bavail * bsize
}
