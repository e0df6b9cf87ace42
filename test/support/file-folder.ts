import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder of its own, until it is removed. */
export type FileFolder = Awaited<ReturnType<typeof createFolder>>

/** @param name what the folder's name begins with */
export async function createFolder(name: string) {
  const path = await mkdtemp(join(tmpdir(), `${name}-`))
  return {
    path,
    /** Writes a file that is for its owner alone. @returns its whole name */
    async write(file: string, text: string) {
      await writeFile(join(path, file), text, { mode: 0o600 })
      return join(path, file)
    },
    remove: () => rm(path, { recursive: true, force: true }),
  }
}
