import type { Clock } from '../../clock.ts'
import type { Log } from '../../log.ts'
import type { ExclusiveStore, StoreSettings } from '../../messages/store.ts'
import { claimAcks } from './acks/ack-claims.ts'
import { openReceivedAcks } from './acks/received-acks.ts'
import { backUp } from './copies/backup.ts'
import type { Connection } from './database/connection.ts'
import type { Transaction } from './database/database.ts'
import { groupCommits } from './database/group-commits.ts'
import { openFile } from './database/open-file.ts'
import { toStoreError } from './database/sqlite-error.ts'
import { rememberLog } from './database/write-ahead-log.ts'
import { openHousekeeping } from './housekeeping.ts'
import { grantLeases, onlyInstance } from './leases.ts'
import { openCursors } from './messages/cursors.ts'
import { openDuplicates } from './messages/duplicates.ts'
import { openHistory } from './messages/history.ts'
import { openPushQueue } from './messages/push-queue.ts'
import { openRingIndex } from './messages/ring-index.ts'
import { openServerTime } from './messages/server-time.ts'
import { openStations } from './messages/stations.ts'
import { openReports } from './station-reports.ts'

/**
 * Opens the store in the SQLite file `path`, or in memory for `:memory:`. Creates a missing file and its folder. Does
 * not change a file that cannot be opened.
 *
 * Rejects with a {@link StoreError}: `database_locked`, `database_corrupt`, `database_foreign`, `database_outdated`,
 * `database_newer`, `database_not_writable`, `disk_full` or `disk_failing`.
 */
export async function openSqliteStore(
  path: string,
  settings: StoreSettings,
  clock: Clock,
  log: Log,
): Promise<ExclusiveStore> {
  const connection = await openFile(path).catch((error: unknown) => {
    throw toStoreError(error)
  })
  try {
    const store = await buildStore(connection, path, settings, clock, log)
    const writeAheadLog = await rememberLog(path, clock, log)
    return {
      ...store,
      async close() {
        await store.close()
        await writeAheadLog.leave()
      },
    }
  } catch (error) {
    await connection.close().catch(() => undefined)
    throw toStoreError(error)
  }
}

/** Builds the store on a connection that {@link openFile} returned. Closing the store closes the connection. */
export async function buildStore(
  connection: Connection,
  path: string,
  settings: StoreSettings,
  clock: Clock,
  log: Log,
): Promise<ExclusiveStore> {
  const database = groupCommits(connection, clock, log)
  const serverTime = await openServerTime(connection, database, clock)
  const opened = await openRingIndex(connection, settings.history)
  const { rings } = opened
  const stations = await openStations(connection, database, serverTime, { rings, settings, clock, log })
  const duplicates = await openDuplicates(connection, opened, stations, settings.history)
  const { perStation } = settings.history
  const receivedAcks = await openReceivedAcks(connection, {
    database,
    stations,
    stamps: serverTime,
    history: settings.history,
    clock,
  })
  const cursors = await openCursors(connection, {
    database,
    stations,
    rings,
    acks: receivedAcks,
    stamps: serverTime,
    clock,
  })
  const { history, feed } = openHistory(database, serverTime, {
    rings,
    perStation,
    stations,
    duplicates,
    receivedAcks,
    acks: claimAcks({ stations, settings: settings.ack, clock }),
    cursors,
    clock,
    log,
  })
  const { coalesceMs } = settings.push
  const pushes = await openPushQueue(connection, { database, stations, rings, feed, coalesceMs, clock })
  const housekeeping = openHousekeeping({ path, database, stations, rings, perStation, clock })
  const seal = async (tx: Transaction): Promise<void> => {
    await cursors.seal(tx)
    await pushes.seal(tx)
    await serverTime.seal(tx)
  }
  return {
    isShared: false,
    stations,
    history,
    receivedAcks,
    pushes,
    reports: openReports({ database, stations, rings, pushes }),
    stamps: serverTime,
    cursors,
    housekeeping,
    leases: grantLeases(settings.instance),
    instances: onlyInstance(settings.instance, clock),
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
