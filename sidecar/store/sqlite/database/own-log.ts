import { realpath, rename } from 'node:fs/promises'
import type { Clock } from '../../../clock.ts'
import type { Log } from '../../../log.ts'
import { IN_MEMORY } from './database-file.ts'
import { identityOf } from './file-watch.ts'

/** The log beside a database that is open. */
export interface OwnLog {
  /**
   * Puts it aside where its database is not in its place any more. To be called once that is closed. Never rejects;
   * twice is fine.
   */
  leave(): Promise<void>
}

/**
 * Knows the log of the database that is open at `path`. SQLite leaves it as it is when the file was deleted or replaced
 * under it, and would take it for that of whatever file has the name at the next start, such as a backup that somebody
 * put there: pages of one database in the middle of another.
 */
export async function knowLog(path: string, clock: Pick<Clock, 'now'>, log: Log): Promise<OwnLog> {
  if (path === IN_MEMORY) return { leave: async () => {} }
  // SQLite puts it beside the file itself, wherever a link to that is.
  const file = await realpath(path)
  const identities = () => Promise.all([identityOf(file), identityOf(`${file}-wal`)])
  const [database, own] = await identities()
  return {
    async leave() {
      const [found, beside] = await identities()
      if (found === database || found === 'unknown' || beside !== own || own === 'none') return
      const aside = `${file}.gone-${new Date(clock.now()).toISOString().replaceAll(/[-:.]/g, '')}-wal`
      try {
        await rename(`${file}-wal`, aside)
        log.warn(
          'database-log-left',
          'The log of the database that is gone was put aside: it is that of no other file.',
          {
            file: aside,
          },
        )
      } catch (error) {
        log.error(
          'database-log-left',
          'The log of the database that is gone is still there: move it away before a start.',
          {
            file: `${file}-wal`,
            error,
          },
        )
      }
    },
  }
}
