import { stat } from 'node:fs/promises'
import type { Clock, Timer } from '../../../clock.ts'
import { isPostgresAddress } from '../../../config/postgres-address.ts'
import type { Log } from '../../../log.ts'
import { IN_MEMORY } from './database-file.ts'

/** Detects when a restart would no longer find the open database. */
export interface FileWatch {
  /** Returns false if the last check found that the database file is lost. Then no message may be acknowledged. */
  kept(): boolean
  problems(): readonly 'database_replaced'[]
  close(): Promise<void>
}

/**
 * Interval at which the database files are checked. A deleted or replaced file must be noticed within three intervals.
 * A check costs two system calls.
 */
const CHECK_EVERY_MS = 3000

const REMEDY =
  'Do not stop the sidecar yet. If the original file still exists, move it back (a copy does not help). Otherwise send POST /backup to the operator port, stop the sidecar, restore that backup and start the sidecar again.'

/**
 * Watches the files of the database at `path`. SQLite does not notice if they are deleted or replaced. The data is lost
 * when the process ends, unless they are moved back. Writes by programs that ignore SQLite's lock are not detected.
 */
export async function watchDatabaseFile(path: string, clock: Clock, log: Log): Promise<FileWatch> {
  const opened = path === IN_MEMORY || isPostgresAddress(path) ? [] : await filesOf(path)
  let isKept = true
  let timer: Timer | undefined
  let isClosed = false

  async function check(): Promise<void> {
    const identities = await Promise.all(opened.map(({ file }) => identityOf(file)))
    if (isClosed) return
    plan()
    // If a file's identity cannot be read, the file is not necessarily lost.
    if (identities.includes('unknown')) return
    const index = opened.findIndex(({ identity }, place) => identities[place] !== identity)
    const lost = opened[index]
    if (isKept === (lost === undefined)) return
    isKept = lost === undefined
    if (!lost) {
      log.info('database-back', 'The file of the database is back. Nothing was lost.')
      return
    }
    const fate = identities[index] === 'none' ? 'deleted' : 'replaced'
    log.error(
      'database-gone',
      `A file of the database was ${fate}. Messages stored now are lost when this process ends.`,
      {
        file: lost.file,
        remedy: REMEDY,
      },
    )
  }

  function plan(): void {
    timer = clock.after(CHECK_EVERY_MS, () => void check())
  }

  if (opened.length > 0) plan()
  return {
    kept: () => isKept,
    problems: () => (isKept ? [] : ['database_replaced']),
    async close() {
      isClosed = true
      timer?.cancel()
    },
  }
}

/**
 * The device and inode numbers of a file, which identify it while it is open. `none`: there is no file. `unknown`: a
 * system error prevented reading the numbers.
 */
export type Identity = `${bigint}:${bigint}` | 'none' | 'unknown'

interface OpenFile {
  readonly file: string
  readonly identity: Identity
}

/** Returns the database file and its log. While the database is open, SQLite does not replace the log. */
async function filesOf(path: string): Promise<readonly OpenFile[]> {
  const files = [path, `${path}-wal`]
  const identified = await Promise.all(files.map(async (file) => ({ file, identity: await identityOf(file) })))
  return identified.filter(({ identity }) => identity !== 'none' && identity !== 'unknown')
}

/** Returns the identity of the file at a path. Never rejects. */
export async function identityOf(file: string): Promise<Identity> {
  try {
    const { dev, ino } = await stat(file, { bigint: true })
    return `${dev}:${ino}`
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'none' : 'unknown'
  }
}
