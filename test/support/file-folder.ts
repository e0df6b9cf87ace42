import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder of its own, until it is removed. */
export interface FileFolder {
  readonly path: string
  /** Writes a file that is for its owner alone. @returns its whole name */
  write(name: string, text: string): Promise<string>
  remove(): Promise<void>
}

/** @param name what the folder's name begins with */
export async function createFolder(name: string): Promise<FileFolder> {
  const path = await mkdtemp(join(tmpdir(), `${name}-`))
  return {
    path,
    async write(file, text) {
      await writeFile(join(path, file), text, { mode: 0o600 })
      return join(path, file)
    },
    remove: () => rm(path, { recursive: true, force: true }),
  }
}
