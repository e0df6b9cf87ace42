import { StoreError } from '../../../errors.ts'
import { type Connection, connect } from './connection.ts'
import { IN_MEMORY, prepareFile, restrictFile } from './database-file.ts'
import { demandVersion, migrate } from './migrations.ts'

// Long enough for the process before us, told to stop at the same moment, to let go of the file.
const LOCK_WAIT_MS = 2000

/** A checked connection on the newest schema, which nobody else can get at while it is open. */
export async function openFile(path: string): Promise<Connection> {
  await prepareFile(path)
  const connection = await connect(path, LOCK_WAIT_MS)
  try {
    // Two processes would issue the same stamps. Held exclusively, WAL also does without its shared memory file.
    // Small pages: a message that comes alone, a mark of what was pushed or a cursor writes one each.
    await connection.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA page_size = 2048')
    const version = await demandVersion(connection)
    await checkPages(connection)
    await restrictFile(path)
    await connection.exec(`
      PRAGMA journal_mode = ${path === IN_MEMORY ? 'MEMORY' : 'WAL'};
      PRAGMA synchronous = FULL;
      PRAGMA foreign_keys = OFF;
      PRAGMA temp_store = MEMORY;
      PRAGMA cache_size = -4000;
      PRAGMA wal_autocheckpoint = 2000;
      PRAGMA journal_size_limit = 16000000;`)
    await migrate(connection, version)
    await connection.exec('PRAGMA foreign_keys = ON')
    return connection
  } catch (error) {
    await connection.close().catch(() => undefined)
    throw error
  }
}

/**
 * Rejects with `database_corrupt` where a page is damaged. At the start rather than at the first message for an unlucky
 * station.
 */
// 60 ms for 250,000 messages.
export async function checkPages(connection: Connection): Promise<void> {
  const [found] = await connection.all<{ quick_check: string }>('PRAGMA quick_check(1)')
  if (found?.quick_check !== 'ok') throw new StoreError('database_corrupt', { cause: new Error(found?.quick_check) })
}
