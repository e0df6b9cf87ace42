import { access, chmod, constants, open, stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeFolder } from '../../make-folder.ts'

/** The path that stands for a database in memory. Its data is lost when it is closed. */
export const IN_MEMORY = ':memory:'

// Other users of the machine must not read the database file: with the push tokens and the app's keys in it, they could
// send notifications.
const OWNER_ONLY = 0o600

/**
 * Creates a missing file and its folder, and checks that it is writable; SQLite would open it for reading. Rejects with
 * the file system's error.
 */
export async function prepareFile(path: string): Promise<void> {
  if (path === IN_MEMORY) return
  await makeFolder(dirname(path))
  try {
    const created = await open(path, 'ax', OWNER_ONLY)
    await created.close()
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error
    // Checks the file without opening it. In POSIX, a process that closes any handle of a file loses all its locks on
    // the file.
    await access(path, constants.R_OK | constants.W_OK)
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

/**
 * Removes the permissions of other users from an existing file. SQLite copies the permissions to its write-ahead log.
 */
export async function restrictFile(path: string): Promise<void> {
  if (path === IN_MEMORY) return
  for (const file of [path, `${path}-wal`]) {
    const mode = await stat(file).then(
      (status) => status.mode & 0o777,
      () => OWNER_ONLY, // the write-ahead log does not exist yet
    )
    if (mode !== OWNER_ONLY) await chmod(file, OWNER_ONLY)
  }
}

/** Returns the free bytes of the disk that holds the file; NaN for a database in memory. */
export async function freeBytes(path: string): Promise<number> {
  if (path === IN_MEMORY) return Number.NaN
  const { bavail, bsize } = await statfs(dirname(path))
  return bavail * bsize
}
