import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'

// Other users of the machine must not read the store's files: with the keys in them, they could send notifications to
// phones.
const OWNER_ONLY = 0o700

/**
 * Creates a folder and its missing parents, accessible only to this user. Rejects with the error of the file system.
 */
export async function makeFolder(folder: string): Promise<void> {
  // The option `recursive` hangs where folders cannot be created, such as in `/proc`.
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
