import { readFile, stat } from 'node:fs/promises'
import { systemClock } from '../../clock.ts'
import { addressIsReadable, backupsAreOfAFile, listenersCarryAll } from '../../config/database-rules.ts'
import { isPostgresAddress, shownAddress } from '../../config/postgres-address.ts'
import type { Settings } from '../../config/settings.ts'
import { parseVapidKeys, VAPID_REMEDY, vapidKeyFile } from '../../config/vapid-keys.ts'
import type { Log } from '../../log.ts'
import { openFileContents } from '../../store/sqlite/copies/file-contents.ts'
import { IN_MEMORY } from '../../store/sqlite/database/database-file.ts'
import { demandPackages } from './packages.ts'

/** What `--move-to` has to say, and whether everything is in PostgreSQL now. */
export interface MoveReport {
  readonly done: boolean
  readonly lines: readonly string[]
}

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} }

/**
 * Takes the SQLite file that `settings` name over into the PostgreSQL database at `target`, in which there may be no
 * stations yet: all of it, or nothing. The file stays as it is. The target's password is in no line. Never rejects.
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
      const postgres = await connectPostgres({ database: target, databaseTls }, systemClock, SILENT)
      try {
        await migrate(postgres)
        const counts = await fillDatabase(postgres, contents, { perStation: history.perStation, vapidKeys })
        const keys = vapidKeys === undefined ? [] : ['The keys of Web Push are there too.']
        const lines = [`${shownAddress(target)} has all of ${database} now: ${countsInWords(counts)}.`, ...keys]
        const changes = stepsAfter({ ...settings, database: target })
        return { done: true, lines: [...lines, `${database} is as it was.`, ...changes, 'Then start the sidecar.'] }
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

/** What a start with the new database would refuse, said before it does. */
function stepsAfter(settings: Settings): readonly string[] {
  const problems = [...backupsAreOfAFile(settings), ...listenersCarryAll(settings)]
  return [
    'Now name the new one in "database".',
    ...problems.map(({ path, reason, remedy }) => `${path} ${reason}. ${remedy}`),
  ]
}

async function demandFile(database: string): Promise<void> {
  if (isPostgresAddress(database))
    throw new Error('"database" is a PostgreSQL database already: let it name the file that is to be moved.')
  if (database === IN_MEMORY) throw new Error('"database" is in memory: let it name the file that is to be moved.')
  const found = await stat(database).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${database} cannot be read (${error.code}).`, { cause: error })
  })
  if (!found.isFile()) throw new Error(`"database" names ${database}, which is no file.`)
}

/** Nothing of it is quoted: there may be a password in it, wherever it was put. */
function demandAddress(target: string, settings: Settings): void {
  if (!isPostgresAddress(target)) throw new Error('--move-to takes postgres://USER@HOST/DATABASE.')
  const [problem] = addressIsReadable({ ...settings, database: target })
  if (problem) throw new Error(`What is given to --move-to ${problem.reason}. ${problem.remedy}`)
}

/** Undefined where there are none: then Web Push was never on. */
async function vapidKeysIn(file: string | null): Promise<string | undefined> {
  if (file === null) return undefined
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new Error(`${file} cannot be read (${error.code}).`, { cause: error })
  })
  if (text === undefined) return undefined
  const keys = parseVapidKeys(text)
  if (!keys) throw new Error(`${file} has no VAPID keys in it, or is damaged. ${VAPID_REMEDY}`)
  return JSON.stringify(keys)
}
