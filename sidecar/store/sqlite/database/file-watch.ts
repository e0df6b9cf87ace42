import { stat } from 'node:fs/promises'
import type { Clock, Timer } from '../../../clock.ts'
import { isPostgresAddress } from '../../../config/postgres-address.ts'
import type { Log } from '../../../log.ts'
import { IN_MEMORY } from './database-file.ts'

/** Whether the open database is still the one that a restart would find. */
export interface FileWatch {
  /** False while what is stored will be lost, as far as the last look has shown: nobody may be told that it is safe. */
  kept(): boolean
  problems(): readonly 'database_replaced'[]
  close(): Promise<void>
}

/** A third of the time within which it has to be noticed; it costs two calls of the system. */
const CHECK_EVERY_MS = 3000

const REMEDY =
  'Save what the process still holds by POST /backup on the operator port, stop it, restore that, and start it again; or move the very same file back.'

/**
 * Watches the files of the database that is open at `path`. Deleted or replaced under it, a file goes on as it was for
 * whoever has it open, so that SQLite says nothing, and is gone with the process. Moved back in time, nothing is lost.
 * Of a database that is no file there is nothing to be watched; and what is written into the file by others, past
 * SQLite's lock, nobody notices.
 */
export async function watchDatabaseFile(path: string, clock: Clock, log: Log): Promise<FileWatch> {
  const opened = path === IN_MEMORY || isPostgresAddress(path) ? [] : await filesOf(path)
  let isKept = true
  let timer: Timer | undefined
  let closed = false

  async function check(): Promise<void> {
    const found = await Promise.all(opened.map(({ file }) => identityOf(file)))
    if (closed) return
    plan()
    // What the system does not say for another reason says nothing of a lost file.
    if (found.includes('unknown')) return
    const index = opened.findIndex(({ identity }, at) => found[at] !== identity)
    const lost = opened[index]
    if (isKept === (lost === undefined)) return
    isKept = lost === undefined
    if (!lost) {
      log.info('database-back', 'The file of the database is back: nothing was lost.')
      return
    }
    const fate = found[index] === 'none' ? 'deleted' : 'replaced'
    log.error('database-gone', `A file of the database was ${fate}: what is stored now goes with this process.`, {
      file: lost.file,
      remedy: REMEDY,
    })
  }

  function plan(): void {
    timer = clock.after(CHECK_EVERY_MS, () => void check())
  }

  if (opened.length > 0) plan()
  return {
    kept: () => isKept,
    problems: () => (isKept ? [] : ['database_replaced']),
    async close() {
      closed = true
      timer?.cancel()
    },
  }
}

/** Device and inode: no other file has them while this one is open. `none` where there is no file. */
export type Identity = `${bigint}:${bigint}` | 'none' | 'unknown'

interface OpenFile {
  readonly file: string
  readonly identity: Identity
}

/** The database and its log, which keeps its file for as long as the database is open. */
async function filesOf(path: string): Promise<readonly OpenFile[]> {
  const files = [path, `${path}-wal`]
  const found = await Promise.all(files.map(async (file) => ({ file, identity: await identityOf(file) })))
  return found.filter(({ identity }) => identity !== 'none' && identity !== 'unknown')
}

export async function identityOf(file: string): Promise<Identity> {
  try {
    const { dev, ino } = await stat(file, { bigint: true })
    return `${dev}:${ino}`
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'none' : 'unknown'
  }
}
