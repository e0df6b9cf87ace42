import { createECDH, generateKeyPairSync } from 'node:crypto'
import { isPostgresAddress } from './postgres-address.ts'

/**
 * The keys that identify this server to push services (RFC 8292), in base64url: an uncompressed point on P-256, and its
 * scalar.
 */
export interface VapidKeys {
  readonly publicKey: string
  readonly privateKey: string
}

/**
 * The remedy for a damaged key file. The sidecar does not replace such a file, because new keys would end every
 * subscription.
 */
export const VAPID_REMEDY =
  'Restore it from a backup, because every subscription belongs to its keys. If they are lost, move the file away: the next start creates new ones, and every app must subscribe again.'

/**
 * Returns the path of the key file, by default beside the database file. Null if there is none: the keys are in
 * PostgreSQL, or not stored.
 */
export function vapidKeyFile(keyFile: string | null, database: string): string | null {
  return keyFile ?? (database === ':memory:' || isPostgresAddress(database) ? null : vapidFileBeside(database))
}

/** Returns the path of the key file beside a database file or a backup. */
export function vapidFileBeside(database: string): string {
  return `${database}.vapid.json`
}

export function makeVapidKeys(): VapidKeys {
  const {
    x = '',
    y = '',
    d = '',
  } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })
  const point = Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')])
  return { publicKey: point.toString('base64url'), privateKey: d }
}

/**
 * Parses a key file. Its format is the one of `web-push generate-vapid-keys --json`. Returns undefined if the file is
 * of another kind or damaged.
 */
export function parseVapidKeys(text: string): VapidKeys | undefined {
  try {
    const { publicKey, privateKey } = JSON.parse(text)
    const scalar = Buffer.from(privateKey, 'base64url')
    if (scalar.length !== 32 || typeof publicKey !== 'string') return undefined
    const curve = createECDH('prime256v1')
    curve.setPrivateKey(scalar)
    if (curve.getPublicKey('base64url') !== publicKey) return undefined
    return { publicKey, privateKey: scalar.toString('base64url') }
  } catch {
    // Does not pass on the library's error, because its message could quote the key.
    return undefined
  }
}
