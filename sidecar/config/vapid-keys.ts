import { createECDH, generateKeyPairSync } from 'node:crypto'
import { isPostgresAddress } from './postgres-address.ts'

/**
 * The keys by which push services know this server, in base64url: a point on P-256, uncompressed, and its scalar.
 * Source: RFC 8292.
 */
export interface VapidKeys {
  readonly publicKey: string
  readonly privateKey: string
}

/**
 * What to do about a key file that is no good. A new pair in its place, made in silence, would end every subscription.
 */
export const VAPID_REMEDY =
  'Restore it from a backup: every subscription belongs to the keys in it. If they are lost for good, move the file away: new ones are made at the next start, and every app has to subscribe anew.'

/**
 * Where the keys are kept: in the file that is configured, else beside the database; null where that is no file: those
 * of PostgreSQL are in it.
 */
export function vapidKeyFile(keyFile: string | null, database: string): string | null {
  return keyFile ?? (database === ':memory:' || isPostgresAddress(database) ? null : vapidFileBeside(database))
}

/** Where the keys are that belong to a database file, or to a backup. */
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
 * The keys in a file's text, as the command `web-push generate-vapid-keys --json` writes it too; undefined when it is
 * no such file, or damaged.
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
    // Its message could quote the key.
    return undefined
  }
}
