import { randomInt } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { isPostgresAddress } from '../../../config/postgres-address.ts'
import type { Connection } from './connection.ts'
import { IN_MEMORY } from './database-file.ts'

/** Where the schema cookie is, which SQLite counts on by one when it changes the schema (https://sqlite.org/fileformat2.html#schema_cookie). */
const COOKIE_AT = 40
const COOKIE_BYTES = 4
/** Copies that SQLite makes begin at 1. */
const LOWEST = 2 ** 16
/** More than the schema changes while it is open: statistics get a table of their own. */
const MOST_CHANGES = 100
const HIGHEST = 2 ** 31

/**
 * Gives the file that is open on `connection`, and nobody else's, a mark that no copy of before has. Where the disk takes no more, it keeps the
 * one that it has.
 */
export async function markFile(connection: Connection): Promise<void> {
  const mark = randomInt(LOWEST, HIGHEST)
  await connection.exec(`PRAGMA schema_version = ${mark}; PRAGMA wal_checkpoint`).catch(() => undefined)
}

/** Whether two marks are those of one file, of which `present` is the later one. */
export function isSameMark(before: number, present: number): boolean {
  return present >= before && present <= before + MOST_CHANGES
}

/** What is in a file, whatever its name leads to meanwhile. */
export interface MarkReader {
  /** 0 in what is no database; undefined where there is none, or the system does not say. */
  read(): Promise<number | undefined>
  /** To be called when nobody has the database open any more: on POSIX systems it takes all locks of this process off the file. */
  close(): Promise<void>
}

/** Reads the mark of the file at `path`, which is opened by the first read. */
export function createMarkReader(path: string): MarkReader {
  if (path === IN_MEMORY || isPostgresAddress(path)) return { read: async () => undefined, close: async () => {} }
  let opened: Promise<FileHandle> | undefined
  return {
    async read() {
      try {
        opened ??= open(path, 'r')
        const { bytesRead, buffer } = await (await opened).read(Buffer.alloc(COOKIE_BYTES), 0, COOKIE_BYTES, COOKIE_AT)
        return bytesRead === COOKIE_BYTES ? buffer.readUInt32BE() : 0
      } catch {
        return undefined
      }
    },
    async close() {
      const handle = await opened?.catch(() => undefined)
      await handle?.close()
    },
  }
}
