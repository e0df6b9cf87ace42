import { readFile, stat } from 'node:fs/promises'
import { systemClock } from '../../clock.ts'
import { addressIsReadable, backupsAreOfAFile, listenersCarryAll } from '../../config/database-rules.ts'
import { isPostgresAddress, shownAddress } from '../../config/postgres-address.ts'
import type { Settings } from '../../config/settings.ts'
import { parseVapidKeys, VAPID_REMEDY, vapidKeyFile } from '../../config/vapid-keys.ts'
import { SILENT_LOG } from '../../log.ts'
import { openFileContents } from '../../store/sqlite/copies/file-contents.ts'
import { IN_MEMORY } from '../../store/sqlite/database/database-file.ts'
import { demandPackages } from './packages.ts'

/** The output of `--move-to`, and whether everything was copied to PostgreSQL. */
export interface MoveReport {
  readonly done: boolean
  readonly lines: readonly string[]
}

/**
 * Copies everything or nothing from the SQLite file to PostgreSQL at `target`, which must not have stations. Never
 * shows the password in `target`; never rejects.
 */
export async function moveDatabase(target: string, settings: Settings): Promise<MoveReport> {
  const { database, databaseTls, history, push } = settings
  try {
    demandPackages()
    await demandFile(database)
    demandAddress(target, settings)
    const vapidKeys = await vapidKeysIn(vapidKeyFile(push.webpush.keyFile, database))
    const [{ connectPostgres }, { migrate }, { countsInWords, fillDatabase }] = await Promise.all([
      import('../../store/postgres/database/connection.ts'),
      import('../../store/postgres/schema/migrations.ts'),
      import('../../store/postgres/fill-database.ts'),
    ])
    const contents = await openFileContents(database)
    try {
      const postgres = await connectPostgres({ database: target, databaseTls }, systemClock, SILENT_LOG)
      try {
        await migrate(postgres)
        const counts = await fillDatabase(postgres, contents, { perStation: history.perStation, vapidKeys })
        const keys = vapidKeys === undefined ? [] : ['The Web Push keys were copied too.']
        const lines = [
          `${shownAddress(target)} now has everything from ${database}: ${countsInWords(counts)}.`,
          ...keys,
        ]
        const changes = stepsAfter({ ...settings, database: target })
        return { done: true, lines: [...lines, `${database} is unchanged.`, ...changes, 'Then start the sidecar.'] }
      } finally {
        await postgres.close()
      }
    } finally {
      await contents.close()
    }
  } catch (error) {
    const { message } = error instanceof Error ? error : new Error(String(error))
    const remedy = error instanceof Error && 'remedy' in error ? ` ${error.remedy}` : ''
    return { done: false, lines: [`Nothing was moved. ${message}${remedy}`] }
  }
}

/** Returns the next steps for the operator, including the settings that must change for the new database. */
function stepsAfter(settings: Settings): readonly string[] {
  const problems = [...backupsAreOfAFile(settings), ...listenersCarryAll(settings)]
  return [
    'Now set "database" to the new database.',
    ...problems.map(({ path, reason, remedy }) => `${path} ${reason}. ${remedy}`),
  ]
}

async function demandFile(database: string): Promise<void> {
  if (isPostgresAddress(database))
    throw new Error('"database" is already a PostgreSQL database. Set it to the file to move.')
  if (database === IN_MEMORY) throw new Error('"database" is in memory. Set it to the file to move.')
  const file = await stat(database).catch((error: NodeJS.ErrnoException) => {
    throw new Error(
      `${database} cannot be read (${error.code}). Check that "database" names the file to move, and that you may read it.`,
      { cause: error },
    )
  })
  if (!file.isFile()) throw new Error(`"database" names ${database}, which is not a file.`)
}

/**
 * Throws if the address is unusable. The message does not quote the address, because any part of it may be a password.
 */
function demandAddress(target: string, settings: Settings): void {
  if (!isPostgresAddress(target)) throw new Error('--move-to takes postgres://USER@HOST/DATABASE.')
  const [problem] = addressIsReadable({ ...settings, database: target })
  if (problem) throw new Error(`The address in --move-to ${problem.reason}. ${problem.remedy}`)
}

/** Returns the Web Push keys in `file`; undefined if there is no file, because Web Push was never on. */
async function vapidKeysIn(file: string | null): Promise<string | undefined> {
  if (file === null) return undefined
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new Error(
      `The file with the Web Push keys, ${file}, cannot be read (${error.code}). Allow your user to read it, and repeat the move.`,
      { cause: error },
    )
  })
  if (text === undefined) return undefined
  const keys = parseVapidKeys(text)
  if (!keys) throw new Error(`${file} has no VAPID keys, or is damaged. ${VAPID_REMEDY}`)
  return JSON.stringify(keys)
}
