import { createPrivateKey, type KeyObject } from 'node:crypto'
import { WrongFile } from './wrong-file.ts'

/** A Google service account, as read from its key file. */
export interface ServiceAccount {
  readonly projectId: string
  readonly clientEmail: string
  /** The private key in PEM. */
  readonly privateKey: string
}

const MAKE_SERVICE_ACCOUNT_KEY =
  'In the Firebase console, open Project settings > Service accounts, click "Generate new private key", and use the downloaded file.'
const MAKE_SIGNING_KEY =
  'In the Apple developer account, open Certificates, Identifiers & Profiles > Keys, add a key with "Apple Push Notifications service (APNs)", and use the downloaded .p8 file.'

/**
 * Parses the JSON key file of a service account.
 *
 * @throws {WrongFile} if the text is not such a key file
 */
export function parseServiceAccount(text: string): ServiceAccount {
  const members = objectOf(text)
  if ('project_info' in members && 'client' in members)
    throw new WrongFile("is the app's google-services.json, not a key of the server", MAKE_SERVICE_ACCOUNT_KEY)
  if ('installed' in members || 'web' in members)
    throw new WrongFile('is an OAuth client, not the key of a service account', MAKE_SERVICE_ACCOUNT_KEY)
  const { type, project_id: projectId, client_email: clientEmail, private_key: privateKey } = members
  if (type === 'service_account' && isText(projectId) && isText(clientEmail) && isText(privateKey) && isRsa(privateKey))
    return { projectId, clientEmail, privateKey }
  throw new WrongFile("is not a service account's JSON key file", MAKE_SERVICE_ACCOUNT_KEY)
}

/**
 * Checks the PEM text of a `.p8` signing key from Apple, and returns the text.
 *
 * @throws {WrongFile} if the text is not such a key
 */
export function parseSigningKey(pem: string): string {
  if (/-----BEGIN CERTIFICATE-----/.test(pem))
    throw new WrongFile('is a certificate, not the .p8 signing key that the sidecar needs', MAKE_SIGNING_KEY)
  const { asymmetricKeyType: type, asymmetricKeyDetails } = keyOf(pem) ?? {}
  if (type === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1') return pem
  if (type !== undefined)
    throw new WrongFile(`is a private key of another kind (${type}), not one for APNs (EC on P-256)`, MAKE_SIGNING_KEY)
  throw new WrongFile('is not a signing key for APNs, as downloaded from Apple (.p8)', MAKE_SIGNING_KEY)
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    // Does not pass on the parser's error, because its message could quote the file.
    return {}
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function isRsa(pem: string): boolean {
  return keyOf(pem)?.asymmetricKeyType === 'rsa'
}

function keyOf(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem)
  } catch {
    // Does not pass on the library's error, because its message could quote the key.
    return undefined
  }
}
