import { type JWTPayload, SignJWT } from 'jose'
import type { DomainSettings, PrivateJwk } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'

/** What this client is, as far as signatures and decryption need it. */
export type ClientIdentity = Pick<DomainSettings, 'client' | 'credentials'>

/** A key with the algorithm that it signs by. */
export interface Signer {
  readonly algorithm: string
  /** A secret. */
  readonly key: PrivateJwk | Uint8Array
  /** By which header parameters the IdP finds the key. */
  readonly header: Readonly<Record<string, string>>
}

/**
 * The secret, where a method or an algorithm needs one: the configuration was checked for that.
 *
 * @throws LoginError `client_keys_missing`
 */
export function secretOf({ client_secret: secret }: ClientIdentity['client']): string {
  // An empty key would be everybody's.
  if (!secret) throw new LoginError('client_keys_missing', { details: { member: 'client_secret' } })
  return secret
}

/** HS algorithms sign by the client secret, all others by the first private key that may. Undefined: there is none. */
export function signerFor({ client, credentials }: ClientIdentity, algorithm: string): Signer | undefined {
  if (isShared(algorithm)) return { algorithm, key: new TextEncoder().encode(secretOf(client)), header: {} }
  const key = credentials.keys.find(({ signs }) => signs.includes(algorithm))
  if (!key) return undefined
  const { kid, thumbprints, privateJwk } = key
  return { algorithm, key: privateJwk, header: { ...thumbprints, ...(kid === null ? {} : { kid }) } }
}

/** Whether signatures of an algorithm are made and verified by the client secret. */
export function isShared(algorithm: string | undefined): algorithm is `HS${string}` {
  return algorithm?.startsWith('HS') ?? false
}

/** Signs claims as they are. @param type of the token, its `typ` */
export function signClaims({ algorithm, key, header }: Signer, claims: JWTPayload, type: string): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ ...header, alg: algorithm, typ: type }).sign(key)
}
