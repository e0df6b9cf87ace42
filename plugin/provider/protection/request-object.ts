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

/** Seconds that a request object is good for: the browser takes it to the IdP at once, whose clock may differ. */
const GOOD_FOR_S = 5 * 60
/** Names of a published list that go into the log. */
const MOST_PUBLISHED = 20

/**
 * The parameters of an authorization request signed in one object (RFC 9101), which nobody on the way can change, and
 * where the Client object asks for that encrypted to the IdP, so that nobody on the way can read it.
 *
 * @returns undefined: neither the Client object nor the IdP wants one
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
  const { response_type = '', scope = '', max_age, claims, ...others } = parameters
  const iat = Math.floor(now() / 1000)
  const signed = await signClaims(
    signer,
    {
      ...others,
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
      exp: iat + GOOD_FOR_S,
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
 * As configured; else, where the IdP takes signed requests only, of everybody or of this client, the first of our own
 * keys and algorithms that it takes: where it does not say what it takes, the first of all.
 */
function signerOfRequests(identity: ClientIdentity, metadata: oidc.ServerMetadata): Signer | undefined {
  const { client } = identity
  const demanded = client.require_signed_request_object || metadata.require_signed_request_object === true
  if (client.request_object_signing_alg === undefined && !demanded) return undefined
  const taken = metadata.request_object_signing_alg_values_supported
  const algorithm =
    client.request_object_signing_alg ?? ownAlgorithms(identity).find((own) => taken?.includes(own) ?? true)
  const signer = algorithm === undefined ? undefined : signerFor(identity, algorithm)
  if (signer) return signer
  const member = client.require_signed_request_object ? 'require_signed_request_object' : 'request_object_signing_alg'
  throw new LoginError('client_keys_missing', {
    details: { member, ...(taken ? { published: taken.slice(0, MOST_PUBLISHED) } : {}) },
  })
}

/** What the IdP publishes now: a key that it withdrew is not encrypted to any more. */
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
