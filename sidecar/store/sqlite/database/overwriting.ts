import { copyFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { isSameMark, type MarkReader } from './file-mark.ts'

/** Whether something else was written into the file of the open database, as by `cp`, which leaves its device and inode as they were. */
export interface Overwriting {
  isFound(): boolean
  /** Looks, and once it has found something, puts that out of reach of this process as soon as it is complete. Never rejects. */
  look(): Promise<void>
  /** The same at once: SQLite takes what its log holds into the file when it closes it. */
  finish(): Promise<void>
}

/** Watches the file at `path`, whose mark now is that of the open database. */
export async function watchForOverwriting(path: string, marks: MarkReader): Promise<Overwriting> {
  const mark = await marks.read()
  const inode = await inodeOf(path)
  let isFound = false
  let isOut = false
  let stateBefore: string | undefined

  async function read(): Promise<void> {
    const present = await marks.read()
    isFound = mark !== undefined && present !== undefined && !isSameMark(mark, present)
  }

  /** A copy takes the file's place; this process goes on with what it has open, which then has no name any more. */
  async function moveOut(): Promise<void> {
    try {
      const file = await realpath(path)
      if ((await inodeOf(file)) !== inode) return
      const copy = `${file}.taken`
      try {
        await copyFile(file, copy)
        await rename(copy, file)
        isOut = true
      } finally {
        await rm(copy, { force: true })
      }
    } catch {
      // No room for it, say: the next look tries again.
    }
  }

  return {
    isFound: () => isFound,
    async look() {
      if (!isFound) await read()
      if (!isFound || isOut) return
      const state = await stateOf(path)
      // Not while somebody still copies.
      if (state === stateBefore) await moveOut()
      stateBefore = state
    },
    async finish() {
      if (!isFound) await read()
      if (isFound && !isOut) await moveOut()
    },
  }
}

async function inodeOf(file: string): Promise<string | undefined> {
  return stat(file, { bigint: true }).then(
    ({ dev, ino }) => `${dev}:${ino}`,
    () => undefined,
  )
}

async function stateOf(file: string): Promise<string | undefined> {
  return stat(file, { bigint: true }).then(
    ({ size, mtimeNs }) => `${size}:${mtimeNs}`,
    () => undefined,
  )
}
