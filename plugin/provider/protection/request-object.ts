import type { JWK } from 'jose'
import * as oidc from 'openid-client'
import { isJsonObject, membersOf } from '../../config/json/json-object.ts'
import { LoginError } from '../../errors.ts'
import {
  type ClientIdentity,
  ownAlgorithms,
  type Signer,
  signClaims,
  signerFor,
} from '../authentication/client-signature.ts'
import type { Fetch } from '../http/limited-fetch.ts'
import { encrypt, encryptionOf } from './encryption.ts'

/** Lifetime of a request object in seconds. The browser delivers it at once, but the IdP's clock may differ. */
const LIFETIME_S = 5 * 60
/** An error's details list at most this many of the algorithms that the IdP publishes. */
const MAX_PUBLISHED = 20

/**
 * Signs the parameters of an authorization request in one object (RFC 9101), and encrypts it if the Client object
 * requires that.
 *
 * @returns undefined if no request object is required
 * @throws LoginError `client_keys_missing`, `metadata_incomplete`
 */
export async function requestObject(
  parameters: Readonly<Record<string, string>>,
  metadata: oidc.ServerMetadata,
  identity: ClientIdentity,
  { fetch, now }: { readonly fetch: Fetch; readonly now: () => number },
): Promise<string | undefined> {
  const { client } = identity
  const signer = signerOfRequests(identity, metadata)
  if (!signer) return undefined
  const { response_type = '', scope = '', max_age, claims, ...rest } = parameters
  const iat = Math.floor(now() / 1000)
  const signed = await signClaims(
    signer,
    {
      ...rest,
      response_type,
      scope,
      client_id: client.client_id,
      ...(max_age === undefined ? {} : { max_age: Number(max_age) }),
      ...(claims === undefined ? {} : { claims: JSON.parse(claims) }),
      iss: client.client_id,
      aud: metadata.issuer,
      jti: oidc.randomNonce(),
      iat,
      nbf: iat,
      exp: iat + LIFETIME_S,
    },
    'oauth-authz-req+jwt',
  )
  const encryption = encryptionOf(client.request_object_encryption_alg, client.request_object_encryption_enc)
  return encryption
    ? encrypt(signed, encryption, client, () => keysOf(metadata, fetch)).catch((error: unknown) => {
        if (error instanceof LoginError) throw error
        const reason = error instanceof Error ? error.message : String(error)
        throw new LoginError('metadata_incomplete', { cause: error, details: { reason } })
      })
    : signed
}

/**
 * Chooses the key and algorithm that sign requests: the configured algorithm or, if the Client object or the IdP
 * requires signatures, the first of this client's algorithms that the IdP accepts.
 */
function signerOfRequests(identity: ClientIdentity, metadata: oidc.ServerMetadata): Signer | undefined {
  const { client } = identity
  const isRequired = client.require_signed_request_object || metadata.require_signed_request_object === true
  if (client.request_object_signing_alg === undefined && !isRequired) return undefined
  const accepted = metadata.request_object_signing_alg_values_supported
  const algorithm =
    client.request_object_signing_alg ?? ownAlgorithms(identity).find((name) => accepted?.includes(name) ?? true)
  const signer = algorithm === undefined ? undefined : signerFor(identity, algorithm)
  if (signer) return signer
  const member = client.require_signed_request_object
    ? 'client.require_signed_request_object'
    : 'client.request_object_signing_alg'
  throw new LoginError('client_keys_missing', {
    details: { member, ...(accepted ? { published: accepted.slice(0, MAX_PUBLISHED) } : {}) },
  })
}

/** Loads the keys that the IdP currently publishes, so that nothing is encrypted with a withdrawn key. */
async function keysOf({ jwks_uri: address }: oidc.ServerMetadata, fetch: Fetch): Promise<readonly JWK[]> {
  if (address === undefined) throw new Error('the IdP publishes no key set')
  const request = {
    method: 'GET',
    headers: { accept: 'application/json' },
    body: undefined,
    redirect: 'manual',
  } as const
  const response = await fetch(address, request).catch((error: unknown) => {
    throw new LoginError('provider_unreachable', { cause: error })
  })
  const { keys } = membersOf(await response.json().catch(() => undefined))
  if (response.status !== 200 || !Array.isArray(keys)) throw new Error('the key set of the IdP is unusable')
  return keys.filter((key): key is JWK => isJsonObject(key))
}
