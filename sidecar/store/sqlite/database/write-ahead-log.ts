import { realpath, rename } from 'node:fs/promises'
import type { Clock } from '../../../clock.ts'
import type { Log } from '../../../log.ts'
import { IN_MEMORY } from './database-file.ts'
import { identityOf } from './file-watch.ts'

/** The write-ahead log of the database that this process has open. */
export interface WriteAheadLog {
  /**
   * Renames the log if its database is no longer at its path. Call after the database was closed. Idempotent; never
   * rejects.
   */
  leave(): Promise<void>
}

/**
 * Remembers which database and log are open. SQLite keeps the log of a deleted file. At the next start, it would mix
 * the log into any file at `path`, such as a backup.
 */
export async function rememberLog(path: string, clock: Pick<Clock, 'now'>, log: Log): Promise<WriteAheadLog> {
  if (path === IN_MEMORY) return { leave: async () => {} }
  // SQLite writes the log beside the file itself, not beside a symbolic link to it.
  const file = await realpath(path)
  const identities = () => Promise.all([identityOf(file), identityOf(`${file}-wal`)])
  const [database, writeAheadLog] = await identities()
  return {
    async leave() {
      const [databaseNow, logNow] = await identities()
      if (databaseNow === database || databaseNow === 'unknown' || logNow !== writeAheadLog || writeAheadLog === 'none')
        return
      const aside = `${file}.gone-${new Date(clock.now()).toISOString().replaceAll(/[-:.]/g, '')}-wal`
      try {
        await rename(`${file}-wal`, aside)
        log.warn(
          'database-log-left',
          'The database file was lost, so its write-ahead log was renamed. Otherwise, the next start would apply the log to another file.',
          {
            file: aside,
          },
        )
      } catch (error) {
        log.error(
          'database-log-left',
          'The database file was lost, but its write-ahead log could not be renamed. Move the log away before the next start.',
          {
            file: `${file}-wal`,
            error,
          },
        )
      }
    },
  }
}
