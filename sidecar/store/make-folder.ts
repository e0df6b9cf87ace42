import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'

// What the sidecar keeps lets whoever reads it write to phones.
const OWNER_ONLY = 0o700

/**
 * Makes a folder and those above it, for this user alone; one that is there already stays as it is. Not by Node's
 * `recursive`, which tries for ever where a folder takes none, as `/proc` does. Rejects with the file system's error.
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
