import { type BigIntStats, statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Clock, Timer } from '../../clock.ts'
import type { Log } from '../../log.ts'
import { isPostgresAddress } from '../../postgres-address.ts'
import { IN_MEMORY } from './database-file.ts'

/** Whether the open database is still the one that a restart would find. */
export interface FileWatch {
  /**
   * False while what is stored will be lost: nobody may be told that it is safe. For whoever has just stored something, since it
   * looks for itself, {@link FRESH_MS} after the last look: where a transaction was just synced, that takes microseconds.
   */
  kept(): boolean
  problems(): readonly 'database_replaced'[]
  close(): Promise<void>
}

/** A third of the time within which it has to be noticed; it costs two calls of the system. */
const CHECK_EVERY_MS = 3000
/** For how long one look will do. */
const FRESH_MS = 100

/**
 * Watches the files of the database that is open at `path`. Deleted or replaced under it, a file goes on as it was for whoever has it
 * open, so that SQLite says nothing, and is gone with the process. Moved back in time, nothing is lost. Written over, as by `cp`, it is
 * still the same one, which shows where it got smaller. Of a database that is no file there is nothing to be watched.
 */
export async function watchDatabaseFile(path: string, clock: Clock, log: Log): Promise<FileWatch> {
  const opened = path === IN_MEMORY || isPostgresAddress(path) ? [] : await filesOf(path)
  let largest = opened[0]?.bytes ?? 0n
  let overwritten = false
  let isKept = true
  let lookedAt = clock.now()
  let looks = 0
  let timer: Timer | undefined
  let closed = false

  // Without holding up the process, as a disk that hangs would.
  async function check(): Promise<void> {
    looks += 1
    const look = looks
    const found = await Promise.all(opened.map(({ file }) => lookAt(file)))
    // Somebody who asked has seen something newer.
    if (look === looks) compare(found)
  }

  function compare(found: readonly Look[]): void {
    lookedAt = clock.now()
    // What the system does not say for another reason says nothing of a lost file.
    if (found.some(({ identity }) => identity === 'unknown')) return
    const index = opened.findIndex(({ identity }, index) => found[index]?.identity !== identity)
    const bytes = found[0]?.bytes ?? 0n
    // It never gets smaller by SQLite's doing: nothing is vacuumed. Overwritten once, it does not get right by growing again.
    if (index < 0 && bytes < largest) overwritten = true
    else if (index < 0) largest = bytes
    const lost = overwritten ? opened[0] : opened[index]
    if (closed || isKept === (lost === undefined)) return
    isKept = lost === undefined
    if (!lost) {
      log.info('database-back', 'The file of the database is back: nothing was lost.')
      return
    }
    if (overwritten) {
      log.error(
        'database-gone',
        'The file of the database was overwritten: what was stored, and is stored now, is lost.',
        {
          file: lost.file,
          remedy: 'Stop the sidecar, move the file away, go back to a backup with --restore, and start it again.',
        },
      )
      return
    }
    const fate = found[index]?.identity === 'none' ? 'deleted' : 'replaced'
    log.error('database-gone', `A file of the database was ${fate}: what is stored now goes with this process.`, {
      file: lost.file,
      remedy:
        'Save what the process still holds by POST /backup on the operator port, stop it, restore that, and start it again; or move the very same file back.',
    })
  }

  function plan(): void {
    if (closed) return
    timer = clock.after(CHECK_EVERY_MS, () => void check().then(plan))
  }

  if (opened.length > 0) plan()
  return {
    kept() {
      if (closed || Math.abs(clock.now() - lookedAt) < FRESH_MS) return isKept
      looks += 1
      compare(opened.map(({ file }) => lookNowAt(file)))
      return isKept
    },
    problems: () => (isKept ? [] : ['database_replaced']),
    async close() {
      closed = true
      timer?.cancel()
    },
  }
}

/** Device and inode: no other file has them while this one is open. `none` where there is no file. */
export type Identity = `${bigint}:${bigint}` | 'none' | 'unknown'

/** What a look at a file shows. */
interface Look {
  readonly identity: Identity
  readonly bytes: bigint
}

interface OpenFile extends Look {
  readonly file: string
}

/** The database and its log, which keeps its file for as long as the database is open. */
async function filesOf(path: string): Promise<readonly OpenFile[]> {
  const files = [path, `${path}-wal`]
  const found = await Promise.all(files.map(async (file) => ({ file, ...(await lookAt(file)) })))
  return found.filter(({ identity }) => identity !== 'none' && identity !== 'unknown')
}

export async function identityOf(file: string): Promise<Identity> {
  return (await lookAt(file)).identity
}

function lookAt(file: string): Promise<Look> {
  return stat(file, { bigint: true }).then(lookBy, withoutLook)
}

function lookNowAt(file: string): Look {
  try {
    return lookBy(statSync(file, { bigint: true }))
  } catch (error) {
    return withoutLook(error)
  }
}

function lookBy({ dev, ino, size }: BigIntStats): Look {
  return { identity: `${dev}:${ino}`, bytes: size }
}

function withoutLook(error: unknown): Look {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return { identity: code === 'ENOENT' || code === 'ENOTDIR' ? 'none' : 'unknown', bytes: 0n }
}
