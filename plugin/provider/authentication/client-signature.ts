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

/** Algorithms that the Client object names for what this client signs. */
export function configuredSignatures(client: ClientIdentity['client']): readonly string[] {
  return [
    client.token_endpoint_auth_signing_alg,
    client.introspection_endpoint_auth_signing_alg,
    client.revocation_endpoint_auth_signing_alg,
    client.request_object_signing_alg,
  ].filter((algorithm) => algorithm !== undefined)
}

/**
 * What our keys sign by, in the order of the file, to choose from where nothing is configured. What is configured for
 * something else comes first of each key: it is published with that algorithm.
 */
export function ownAlgorithms({ client, credentials }: ClientIdentity): readonly string[] {
  const configured = configuredSignatures(client)
  return credentials.keys.flatMap(({ signs }) => [...signs.filter((one) => configured.includes(one)), ...signs])
}

/** Whether signatures of an algorithm are made and verified by the client secret. */
export function isShared(algorithm: string | undefined): algorithm is `HS${string}` {
  return algorithm?.startsWith('HS') ?? false
}

/** Signs claims as they are. @param type of the token, its `typ` */
export function signClaims({ algorithm, key, header }: Signer, claims: JWTPayload, type: string): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ ...header, alg: algorithm, typ: type }).sign(key)
}
