import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A temporary folder, which the test must remove. */
export type FileFolder = Awaited<ReturnType<typeof createFolder>>

/** @param name beginning of the folder's name */
export async function createFolder(name: string) {
  const path = await mkdtemp(join(tmpdir(), `${name}-`))
  return {
    path,
    /** Writes a file that only its owner can read. @returns its path */
    async write(file: string, text: string) {
      await writeFile(join(path, file), text, { mode: 0o600 })
      return join(path, file)
    },
    remove: () => rm(path, { recursive: true, force: true }),
  }
}
