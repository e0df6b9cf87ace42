import { addressesOf, isAddress, isPostgresAddress } from './postgres-address.ts'
import type { Problem } from './problem.ts'
import type { Settings } from './settings.ts'
import type { Surroundings } from './surroundings.ts'

const FORM =
  'Set it to postgres://USER@HOST/DATABASE, or to the path of a SQLite file. In a password, percent-encode all characters other than letters and digits, for example / as %2F. Prefer PGPASSWORD for the password.'

/** Checks that the address of a PostgreSQL database is valid, and that it has no part that the sidecar would ignore. */
export function addressIsReadable({ database }: Settings): readonly Problem[] {
  if (!isAddress(database)) return []
  const problem = (reason: string, remedy = FORM) => [{ path: 'database', reason, remedy }]
  const addresses = addressesOf(database)
  if (!isPostgresAddress(database) || !addresses.every((address) => URL.canParse(address)))
    return problem('is not a valid address of a PostgreSQL database')
  const urls = addresses.map((address) => new URL(address))
  if (urls.some(({ hostname }) => hostname === '')) return problem('names no host')
  const isInvalid = ({ hostname, pathname, username, password, hash }: URL) =>
    hash !== '' || ![hostname, pathname, username, password].every(isEscaped) || pathname.slice(1).includes('/')
  if (urls.some(isInvalid)) return problem('is not a valid address of a PostgreSQL database')
  const { searchParams } = new URL(addresses[0] ?? '')
  if (searchParams.size === 0) return []
  // The message does not show the parameter's name. If a password contains an unescaped `?`, that name may contain the
  // rest of the password.
  return problem(
    'has a parameter',
    'Remove everything from the ? on. The sidecar always uses TLS to another machine and checks its certificate, by databaseTls.caFile if that is set. It needs no other parameters.',
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

/** Checks that backups are configured only for a SQLite file. PostgreSQL has its own tools for backups. */
export function backupsAreOfAFile({ database, backup }: Settings): readonly Problem[] {
  if (!isPostgresAddress(database) || backup.folder === null) return []
  const remedy = 'Set it to null, and back PostgreSQL up with pg_dump, or with pg_basebackup and a WAL archive.'
  return [{ path: 'backup.folder', reason: 'works with a SQLite file only', remedy }]
}

/**
 * Checks that a start with PostgreSQL creates no VAPID key file, because all instances share the keys in the database.
 */
export function vapidKeysAreShared(
  { database, push: { webpush } }: Settings,
  { readFile }: Surroundings,
): readonly Problem[] {
  if (!isPostgresAddress(database) || webpush.subject === null || webpush.keyFile === null) return []
  try {
    readFile(webpush.keyFile)
    return []
  } catch (error) {
    // Another rule reports a key file that exists but cannot be read.
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) return []
  }
  return [
    {
      path: 'push.webpush.keyFile',
      reason: 'names a file that does not exist, while "database" is a PostgreSQL database',
      remedy: 'Remove it. The sidecar creates the VAPID keys in the database, for all instances.',
    },
  ]
}

/** Number of logins to APRS-IS that the SSIDs of one callsign allow. */
const LOGINS = 84
/** Number of stations in one filter, measured with usual callsigns. */
const STATIONS_PER_LOGIN = 880

/**
 * Checks that the listeners can serve `stations.max`. Each serves all stations with its share of the SSIDs, and keeps
 * one login free to change filters.
 */
export function listenersCarryAll({ database, aprsis, stations }: Settings): readonly Problem[] {
  const maxStations = (Math.floor(LOGINS / aprsis.listeners) - 1) * STATIONS_PER_LOGIN
  if (!isPostgresAddress(database) || stations.max <= maxStations) return []
  return [
    {
      path: 'stations.max',
      reason: `is above ${maxStations}, which is the limit with ${aprsis.listeners} listeners, because they share the SSIDs of one callsign`,
      remedy: 'Lower it. For more stations, run another sidecar with another aprsis.callsign and its own database.',
    },
  ]
}
