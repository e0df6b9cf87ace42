import { type JWTPayload, SignJWT } from 'jose'
import type { DomainSettings, PrivateJwk } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'

/** The parts of the settings that signatures and decryption need. */
export type ClientIdentity = Pick<DomainSettings, 'client' | 'credentials'>

/** A key and the algorithm that it signs with. */
export interface Signer {
  readonly algorithm: string
  /** A secret. */
  readonly key: PrivateJwk | Uint8Array
  /** Header parameters that tell the IdP which key it is. */
  readonly header: Readonly<Record<string, string>>
}

/**
 * Returns the client secret. The configuration check guarantees one if a method or an algorithm needs it.
 *
 * @throws LoginError `client_keys_missing`
 */
export function secretOf({ client_secret: secret }: ClientIdentity['client']): string {
  // With an empty key, anyone could sign.
  if (!secret) throw new LoginError('client_keys_missing', { details: { member: 'client_secret' } })
  return secret
}

/**
 * Returns the key for an algorithm: the client secret for HS algorithms, otherwise the first private key that supports
 * it. Undefined if there is none.
 */
export function signerFor({ client, credentials }: ClientIdentity, algorithm: string): Signer | undefined {
  if (isShared(algorithm)) return { algorithm, key: new TextEncoder().encode(secretOf(client)), header: {} }
  const key = credentials.keys.find(({ signs }) => signs.includes(algorithm))
  if (!key) return undefined
  const { kid, thumbprints, privateJwk } = key
  return { algorithm, key: privateJwk, header: { ...thumbprints, ...(kid === null ? {} : { kid }) } }
}

/** Algorithms that the Client object names for signatures of this client. */
export function configuredSignatures(client: ClientIdentity['client']): readonly string[] {
  return [
    client.token_endpoint_auth_signing_alg,
    client.introspection_endpoint_auth_signing_alg,
    client.revocation_endpoint_auth_signing_alg,
    client.request_object_signing_alg,
  ].filter((algorithm) => algorithm !== undefined)
}

/**
 * Algorithms that our keys can sign with, in the order of the key file, to choose from by default. Algorithms that are
 * configured for another purpose come first for each key, because the key is published with them.
 */
export function ownAlgorithms({ client, credentials }: ClientIdentity): readonly string[] {
  const configured = configuredSignatures(client)
  return credentials.keys.flatMap(({ signs }) => [
    ...signs.filter((algorithm) => configured.includes(algorithm)),
    ...signs,
  ])
}

/** Whether an algorithm signs with the client secret, which both sides share. */
export function isShared(algorithm: string | undefined): algorithm is `HS${string}` {
  return algorithm?.startsWith('HS') ?? false
}

/**
 * Signs claims as given.
 *
 * @param type the token's `typ`
 */
export function signClaims({ algorithm, key, header }: Signer, claims: JWTPayload, type: string): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ ...header, alg: algorithm, typ: type }).sign(key)
}
