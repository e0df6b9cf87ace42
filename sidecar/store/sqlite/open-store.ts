import type { Clock } from '../../clock.ts'
import type { Log } from '../../log.ts'
import type { Store, StoreSettings } from '../../messages/store.ts'
import { StoreError, toStoreError } from '../../store-error.ts'
import { backUp } from './copies/backup.ts'
import { type Connection, connect } from './database/connection.ts'
import { groupCommits, type Transaction } from './database/database.ts'
import { IN_MEMORY, prepareFile, restrictFile } from './database/database-file.ts'
import { migrate, schemaVersion } from './database/migrations.ts'
import { knowLog } from './database/own-log.ts'
import { openHousekeeping } from './housekeeping.ts'
import { grantLeases, onlyInstance } from './leases.ts'
import { claimAcks } from './messages/acks.ts'
import { openCursors } from './messages/cursors.ts'
import { openDuplicates } from './messages/duplicates.ts'
import { openHistory } from './messages/history.ts'
import { openPushQueue } from './messages/push-queue.ts'
import { openRings } from './messages/rings.ts'
import { openServerTime } from './messages/server-time.ts'
import { openStations } from './messages/stations.ts'

// Long enough for the process before us, told to stop at the same moment, to let go of the file.
const LOCK_WAIT_MS = 2000

/**
 * Opens the store in the SQLite file `path`, or in memory for `:memory:`. Creates file and folder where they are missing.
 *
 * Rejects with a {@link StoreError}, which says what to do: `database_locked`, `database_corrupt`, `database_foreign`,
 * `database_newer`, `database_not_writable`, `disk_full` or `disk_failing`. It changes nothing in a file that it refuses.
 */
export async function openStore(path: string, settings: StoreSettings, clock: Clock, log: Log): Promise<Store> {
  const connection = await openFile(path).catch((error: unknown) => {
    throw toStoreError(error)
  })
  try {
    const store = await buildStore(connection, path, settings, clock, log)
    const ownLog = await knowLog(path, clock, log)
    return {
      ...store,
      async close() {
        await store.close()
        await ownLog.leave()
      },
    }
  } catch (error) {
    await connection.close().catch(() => undefined)
    throw toStoreError(error)
  }
}

/** The store over a connection that {@link openFile} has made; closes it at the end. */
export async function buildStore(
  connection: Connection,
  path: string,
  settings: StoreSettings,
  clock: Clock,
  log: Log,
): Promise<Store> {
  const database = groupCommits(connection, clock, log)
  const serverTime = await openServerTime(connection, database, clock)
  const opened = await openRings(connection, settings.history)
  const { rings } = opened
  const stations = await openStations(connection, database, serverTime, { rings, settings, clock, log })
  const duplicates = await openDuplicates(connection, opened, stations, settings.history)
  const { perStation } = settings.history
  const { history, feed } = openHistory(database, serverTime, {
    rings,
    perStation,
    stations,
    duplicates,
    acks: claimAcks({ stations, settings: settings.ack, clock }),
    clock,
    log,
  })
  const { coalesceMs } = settings.push
  const pushes = await openPushQueue(connection, { database, stations, rings, feed, coalesceMs, clock })
  const housekeeping = openHousekeeping({ path, database, stations, rings, perStation, clock })
  const cursors = await openCursors(connection, { database, stations, rings, feed, clock })
  const seal = async (tx: Transaction): Promise<void> => {
    await cursors.seal(tx)
    await pushes.seal(tx)
    await serverTime.seal(tx)
  }
  return {
    stations,
    history,
    pushes,
    serverTime,
    cursors,
    housekeeping,
    leases: grantLeases(settings.instance),
    instances: onlyInstance(settings.instance, clock),
    keyring: undefined,
    feed,
    fault: database.fault,
    probe: database.probe,
    backUp: (file, signal) => backUp(database, connection, file, signal),
    close() {
      pushes.close()
      return database.close(seal)
    },
  }
}

/** A checked connection on the newest schema, which nobody else can get at while it is open. */
export async function openFile(path: string): Promise<Connection> {
  await prepareFile(path)
  const connection = await connect(path, LOCK_WAIT_MS)
  try {
    // Two processes would issue the same stamps. Held exclusively, WAL also does without its shared memory file.
    // Small pages: a message that comes alone, a mark of what was pushed or a cursor writes one each.
    await connection.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA page_size = 2048')
    const version = await schemaVersion(connection)
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

/** Rejects with `database_corrupt` where a page is damaged. At the start rather than at the first message for an unlucky station. */
// 60 ms for 250,000 messages.
export async function checkPages(connection: Connection): Promise<void> {
  const [found] = await connection.all<{ quick_check: string }>('PRAGMA quick_check(1)')
  if (found?.quick_check !== 'ok') throw new StoreError('database_corrupt', { cause: new Error(found?.quick_check) })
}
