import { access, chmod, constants, open, stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeFolder } from '../../make-folder.ts'

/** The path that means a database in memory, gone when it is closed. */
export const IN_MEMORY = ':memory:'

// Push tokens let anyone who has the app's keys write to a phone: nobody else on the machine may read them.
const OWNER_ONLY = 0o600

/**
 * Makes sure that the file and its folder exist and can be written. Rejects with the file system's error, which SQLite
 * would have hidden: it opens a file that it may not write for reading, and only the first write fails.
 */
export async function prepareFile(path: string): Promise<void> {
  if (path === IN_MEMORY) return
  await makeFolder(dirname(path))
  try {
    const created = await open(path, 'ax', OWNER_ONLY)
    await created.close()
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error
    // Not opened to find out: POSIX drops a process's locks on a file as soon as it closes any handle on it.
    await access(path, constants.R_OK | constants.W_OK)
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

/** Takes everyone else's permissions away from an existing file; SQLite gives them to its write-ahead log too. */
export async function restrictFile(path: string): Promise<void> {
  if (path === IN_MEMORY) return
  for (const file of [path, `${path}-wal`]) {
    const mode = await stat(file).then(
      (found) => found.mode & 0o777,
      () => OWNER_ONLY, // no log yet
    )
    if (mode !== OWNER_ONLY) await chmod(file, OWNER_ONLY)
  }
}

/** Bytes that the disk with the file has room for; NaN for a database in memory. */
export async function freeBytes(path: string): Promise<number> {
  if (path === IN_MEMORY) return Number.NaN
  const { bavail, bsize } = await statfs(dirname(path))
  return bavail * bsize
}
