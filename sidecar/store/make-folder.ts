import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'

// With these files, anyone could send notifications to phones.
const OWNER_ONLY = 0o700

/**
 * Creates a folder and those above it, for this user alone. An existing folder stays as it is. Does not use the option
 * `recursive` of Node.js, which never ends in a folder that allows no folders, such as `/proc`. Rejects with the error
 * of the file system.
 */
export async function makeFolder(folder: string): Promise<void> {
  const make = () =>
    mkdir(folder, OWNER_ONLY).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error
    })
  try {
    await make()
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(folder) === folder) throw error
    await makeFolder(dirname(folder))
    await make()
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
