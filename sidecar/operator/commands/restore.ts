import { chown, constants, copyFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { isPostgresAddress } from '../../config/postgres-address.ts'
import type { Settings } from '../../config/settings.ts'
import { vapidFileBeside, vapidKeyFile } from '../../config/vapid-keys.ts'
import { restoreDatabase } from '../../store/sqlite/copies/restore.ts'
import { errorText } from './error-text.ts'
import { demandPackages } from './packages.ts'

/** The output of `--restore`, and whether the database was restored. */
export interface RestoreReport {
  readonly done: boolean
  readonly lines: readonly string[]
}

const NO_FILE =
  'Nothing was restored, because the database is PostgreSQL. Set "database" to the backup file, and copy it to an empty database with --move-to.'

/** Replaces the database by a backup. Never rejects. */
export async function restoreBackup(backup: string, settings: Settings): Promise<RestoreReport> {
  if (isPostgresAddress(settings.database)) return { done: false, lines: [NO_FILE] }
  try {
    demandPackages()
    const {
      stations,
      messages,
      keptPath: former,
    } = await restoreDatabase(resolve(backup), settings.database, Date.now())
    const lines = [`${settings.database} is now the backup ${backup}: stations ${stations}, messages ${messages}.`]
    if (former) lines.push(`The former database is kept as ${former}.`)
    if (await restoreVapidKeys(backup, settings)) lines.push('The Web Push keys are restored too.')
    return { done: true, lines: [...lines, 'Start the sidecar again.'] }
  } catch (error) {
    return { done: false, lines: [`Nothing was restored. ${errorText(error)}`] }
  }
}

/**
 * Restores the Web Push keys from the file beside the backup, if no key file exists yet. Returns whether it did. The
 * next start reports other problems.
 */
async function restoreVapidKeys(backup: string, { database, push }: Settings): Promise<boolean> {
  const file = vapidKeyFile(push.webpush.keyFile, database)
  if (file === null) return false
  try {
    await copyFile(vapidFileBeside(resolve(backup)), file, constants.COPYFILE_EXCL)
    // The sidecar's user must own the restored key file, although an administrator usually runs `--restore`.
    const { uid, gid } = await stat(database)
    await chown(file, uid, gid)
    return true
  } catch {
    return false
  }
}
