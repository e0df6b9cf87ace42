import { chown, constants, copyFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { isPostgresAddress } from '../../config/postgres-address.ts'
import type { Settings } from '../../config/settings.ts'
import { vapidFileBeside, vapidKeyFile } from '../../config/vapid-keys.ts'
import { restoreDatabase } from '../../store/sqlite/copies/restore.ts'
import { errorInWords } from './error-in-words.ts'
import { demandPackages } from './packages.ts'

/** What `--restore` has to say, and whether the backup is in its place now. */
export interface RestoreReport {
  readonly done: boolean
  readonly lines: readonly string[]
}

const NO_FILE =
  'Nothing was restored. The database is PostgreSQL: let "database" name the file of the backup, and take that over into an empty database with --move-to.'

/** Puts a backup in the place of the database. Never rejects. */
export async function restoreBackup(backup: string, settings: Settings): Promise<RestoreReport> {
  if (isPostgresAddress(settings.database)) return { done: false, lines: [NO_FILE] }
  try {
    demandPackages()
    const { stations, messages, kept } = await restoreDatabase(resolve(backup), settings.database, Date.now())
    const lines = [`${settings.database} is now the backup ${backup}: stations ${stations}, messages ${messages}.`]
    if (kept) lines.push(`The former database is kept as ${kept}.`)
    if (await restoreVapidKeys(backup, settings)) lines.push('The keys of Web Push are back, too.')
    return { done: true, lines: [...lines, 'Start the sidecar again.'] }
  } catch (error) {
    return { done: false, lines: [`Nothing was restored. ${errorInWords(error)}`] }
  }
}

/**
 * Those that a backup of PostgreSQL brings, where there are none. What else is wrong with them, the next start says.
 */
async function restoreVapidKeys(backup: string, { database, push }: Settings): Promise<boolean> {
  const file = vapidKeyFile(push.webpush.keyFile, database)
  if (file === null) return false
  try {
    await copyFile(vapidFileBeside(resolve(backup)), file, constants.COPYFILE_EXCL)
    // Restored by an administrator, they still have to be the sidecar's.
    const { uid, gid } = await stat(database)
    await chown(file, uid, gid)
    return true
  } catch {
    return false
  }
}
