import { addressesOf, isAddress, isPostgresAddress } from './postgres-address.ts'
import type { Problem } from './problem.ts'
import type { Settings } from './settings.ts'
import type { Surroundings } from './surroundings.ts'

const FORM =
  'Give postgres://USER@HOST/DATABASE, or the path of a SQLite file. In a password, other characters than letters and digits are written as % and their code; it goes best into SIDECAR_DATABASE.'

/** Whether the address of a PostgreSQL database can be read, and says nothing that would go unheeded. */
export function addressIsReadable({ database }: Settings): readonly Problem[] {
  if (!isAddress(database)) return []
  const problem = (reason: string, remedy = FORM) => [{ path: 'database', reason, remedy }]
  const addresses = addressesOf(database)
  if (!isPostgresAddress(database) || !addresses.every((one) => URL.canParse(one)))
    return problem('is no address of a PostgreSQL database')
  const urls = addresses.map((one) => new URL(one))
  if (urls.some(({ hostname }) => hostname === '')) return problem('names no host')
  const wrong = ({ hostname, pathname, username, password, hash }: URL) =>
    hash !== '' || ![hostname, pathname, username, password].every(isEscaped) || pathname.slice(1).includes('/')
  if (urls.some(wrong)) return problem('is no address of a PostgreSQL database')
  const { searchParams } = new URL(addresses[0] ?? '')
  if (searchParams.size === 0) return []
  // Not even a name is shown: a password with a ? in it would make one.
  return problem(
    'has a parameter',
    'Leave out what comes after the ?: TLS is always used where the host is another machine, its certificate checked, by databaseTls.caFile where that is given. The rest needs no setting.',
  )
}

function isEscaped(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** Backups are copies of a file: of PostgreSQL they would be neither whole nor what its operator restores by. */
export function backupsAreOfAFile({ database, backup }: Settings): readonly Problem[] {
  if (!isPostgresAddress(database) || backup.folder === null) return []
  const remedy = 'Set it to null, and back PostgreSQL up by its own means: pg_dump, or pg_basebackup with an archive.'
  return [{ path: 'backup.folder', reason: 'is for the file of a SQLite database', remedy }]
}

/** Keys that were made for the file would be others than those of the database, which all instances share. */
export function vapidKeysAreShared(
  { database, push: { webpush } }: Settings,
  { readFile }: Surroundings,
): readonly Problem[] {
  if (!isPostgresAddress(database) || webpush.subject === null || webpush.keyFile === null) return []
  try {
    readFile(webpush.keyFile)
    return []
  } catch (error) {
    // What else may be wrong with it is said of any such file.
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) return []
  }
  return [
    {
      path: 'push.webpush.keyFile',
      reason: 'names a file that is not there, while "database" is a PostgreSQL database',
      remedy: 'Leave it out: the VAPID keys are made and kept in the database, for all instances.',
    },
  ]
}

/** SSIDs that a base call has for logins, and how many stations a filter names: measured with calls of usual length. */
const LOGINS = 84
const STATIONS_PER_LOGIN = 880

/**
 * All listeners carry all stations, and share the calls that the logins have. One place of each stays free for changes.
 */
export function listenersCarryAll({ database, aprsis, stations }: Settings): readonly Problem[] {
  const most = (Math.floor(LOGINS / aprsis.listeners) - 1) * STATIONS_PER_LOGIN
  if (!isPostgresAddress(database) || stations.max <= most) return []
  return [
    {
      path: 'stations.max',
      reason: `is above ${most}, which is what ${aprsis.listeners} listeners can carry with the calls of one callsign`,
      remedy:
        'Lower it, and have further stations served by instances with another callsign and a database of their own.',
    },
  ]
}
