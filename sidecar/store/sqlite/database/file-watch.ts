import { type BigIntStats, statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Clock, Timer } from '../../../clock.ts'
import { isPostgresAddress } from '../../../config/postgres-address.ts'
import type { Log } from '../../../log.ts'
import { STORE_FAULTS, StoreError } from '../../../store-error.ts'
import { IN_MEMORY } from './database-file.ts'
import type { MarkReader } from './file-mark.ts'
import { watchForOverwriting } from './overwriting.ts'

/** Whether the open database is still the one that a restart would find. */
export interface FileWatch {
  /**
   * False while what is stored will be lost: nobody may be told that it is safe. For whoever has just stored something, since it
   * looks for itself, {@link FRESH_MS} after the last look: where a transaction was just synced, that takes microseconds.
   */
  kept(): boolean
  problems(): readonly 'database_replaced'[]
  /**
   * Looks now, for whoever is about to copy what this process has open. Rejects with the {@link StoreError} `database_overwritten` when that
   * is not its own any more. Deleted or replaced it still is, and a copy saves it.
   */
  assertOwn(): Promise<void>
  close(): Promise<void>
}

/** A third of the time within which it has to be noticed; it costs three calls of the system. */
const CHECK_EVERY_MS = 3000
/** For how long one look will do. */
const FRESH_MS = 100

const REMEDY_GONE =
  'Save what the process still holds by POST /backup on the operator port, stop it, restore that, and start it again; or move the very same file back.'

/**
 * Watches the files of the database that is open at `path`. Deleted or replaced under it, a file goes on as it was for whoever has it
 * open, so that SQLite says nothing, and is gone with the process. Moved back in time, nothing is lost. Another one that was copied over
 * it, into the same file, is known by its mark; this process would write into it, and is kept from that. Of a database that is no file
 * there is nothing to be watched.
 */
export async function watchDatabaseFile(path: string, marks: MarkReader, clock: Clock, log: Log): Promise<FileWatch> {
  const opened = path === IN_MEMORY || isPostgresAddress(path) ? [] : await filesOf(path)
  const overwriting = await watchForOverwriting(path, marks)
  let isKept = true
  let lookedAt = clock.now()
  let looks = 0
  let timer: Timer | undefined
  let closed = false

  // Without holding up the process, as a disk that hangs would.
  async function check(): Promise<void> {
    looks += 1
    const look = looks
    const found = await Promise.all(opened.map(({ file }) => identityOf(file)))
    await overwriting.look()
    // Somebody who asked has seen something newer.
    if (look === looks) compare(found)
  }

  function compare(found: readonly Identity[]): void {
    lookedAt = clock.now()
    // What the system does not say for another reason says nothing of a lost file.
    if (found.includes('unknown')) return
    const index = opened.findIndex(({ identity }, index) => found[index] !== identity)
    const lost = overwriting.isFound() ? opened[0] : opened[index]
    if (closed || isKept === (lost === undefined)) return
    isKept = lost === undefined
    if (!lost) {
      log.info('database-back', 'The file of the database is back: nothing was lost.')
      return
    }
    const fate = overwriting.isFound() ? 'overwritten' : found[index] === 'none' ? 'deleted' : 'replaced'
    log.error('database-gone', `A file of the database was ${fate}: what is stored now goes with this process.`, {
      file: lost.file,
      remedy: fate === 'overwritten' ? STORE_FAULTS.database_overwritten.remedy : REMEDY_GONE,
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
      compare(opened.map(({ file }) => identityNow(file)))
      return isKept
    },
    problems: () => (isKept ? [] : ['database_replaced']),
    async assertOwn() {
      await overwriting.look()
      if (overwriting.isFound()) throw new StoreError('database_overwritten')
    },
    async close() {
      if (closed) return
      closed = true
      timer?.cancel()
      if (opened.length > 0) await overwriting.finish()
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
  return stat(file, { bigint: true }).then(identityBy, withoutIdentity)
}

function identityNow(file: string): Identity {
  try {
    return identityBy(statSync(file, { bigint: true }))
  } catch (error) {
    return withoutIdentity(error)
  }
}

function identityBy({ dev, ino }: BigIntStats): Identity {
  return `${dev}:${ino}`
}

function withoutIdentity(error: unknown): Identity {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'ENOENT' || code === 'ENOTDIR' ? 'none' : 'unknown'
}
