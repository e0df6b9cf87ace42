import { type JWTPayload, SignJWT } from 'jose'
import type { DomainSettings, PrivateJwk } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'

/** The parts of the settings that signing and decryption need. */
export type ClientIdentity = Pick<DomainSettings, 'client' | 'credentials'>

/** A signing key with its algorithm. */
export interface Signer {
  readonly algorithm: string
  /** The private key or the client secret. Must never be logged. */
  readonly key: PrivateJwk | Uint8Array
  /** Header parameters that identify the key to the IdP. */
  readonly header: Readonly<Record<string, string>>
}

/**
 * Returns the client secret. The configuration check guarantees one if a method or an algorithm needs it.
 *
 * @throws LoginError `client_keys_missing`
 */
export function secretOf({ client_secret: secret }: ClientIdentity['client']): string {
  // Refuse an empty secret, because anyone could sign with an empty key.
  if (!secret) throw new LoginError('client_keys_missing', { details: { member: 'client.client_secret' } })
  return secret
}

/** Returns the key for an algorithm: the client secret for HS algorithms, otherwise the first matching key, if any. */
export function signerFor({ client, credentials }: ClientIdentity, algorithm: string): Signer | undefined {
  if (isShared(algorithm)) return { algorithm, key: new TextEncoder().encode(secretOf(client)), header: {} }
  const key = credentials.keys.find(({ signs }) => signs.includes(algorithm))
  if (!key) return undefined
  const { kid, thumbprints, privateJwk } = key
  return { algorithm, key: privateJwk, header: { ...thumbprints, ...(kid === null ? {} : { kid }) } }
}

/** Returns the algorithms that the Client object sets for signatures by this client. */
export function configuredSignatures(client: ClientIdentity['client']): readonly string[] {
  return [
    client.token_endpoint_auth_signing_alg,
    client.introspection_endpoint_auth_signing_alg,
    client.revocation_endpoint_auth_signing_alg,
    client.request_object_signing_alg,
  ].filter((algorithm) => algorithm !== undefined)
}

/**
 * Returns the algorithms of this client's keys, in order. A key's configured ones come first, because its published
 * `alg` may name one.
 */
export function ownAlgorithms({ client, credentials }: ClientIdentity): readonly string[] {
  const configured = configuredSignatures(client)
  return credentials.keys.flatMap(({ signs }) => [
    ...signs.filter((algorithm) => configured.includes(algorithm)),
    ...signs,
  ])
}

/** Whether an algorithm signs with the client secret, which this server and the IdP share. */
export function isShared(algorithm: string | undefined): algorithm is `HS${string}` {
  return algorithm?.startsWith('HS') ?? false
}

/**
 * Signs claims without changing them.
 *
 * @param type the token's `typ`
 */
export function signClaims({ algorithm, key, header }: Signer, claims: JWTPayload, type: string): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ ...header, alg: algorithm, typ: type }).sign(key)
}
