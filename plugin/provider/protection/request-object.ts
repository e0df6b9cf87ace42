import type { JWK } from 'jose'
import * as oidc from 'openid-client'
import { LoginError } from '../../errors.ts'
import { type ClientIdentity, signClaims, signerFor } from '../authentication/client-signature.ts'
import type { Fetch } from '../http/guarded-fetch.ts'
import { encrypt, encryptionOf } from './encryption.ts'

/** Seconds that a request object is good for: the browser takes it to the IdP at once, whose clock may differ. */
const GOOD_FOR_S = 5 * 60

/**
 * The parameters of an authorization request as the IdP is to get them: as they are, or where the Client object asks for that signed
 * in one object (RFC 9101), which nobody on the way can change, and encrypted to the IdP, so that nobody on the way can read it.
 *
 * @throws LoginError `client_keys_missing`, `metadata_incomplete`
 */
export async function authorizationParameters(
  parameters: Readonly<Record<string, string>>,
  metadata: oidc.ServerMetadata,
  identity: ClientIdentity,
  { fetch, now }: { readonly fetch: Fetch; readonly now: () => number },
): Promise<Readonly<Record<string, string>>> {
  const { client } = identity
  const algorithm = client.request_object_signing_alg
  if (algorithm === undefined) return parameters
  const signer = signerFor(identity, algorithm)
  if (!signer) throw new LoginError('client_keys_missing', { details: { member: 'request_object_signing_alg' } })
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
  const request = encryption
    ? await encrypt(signed, encryption, client, () => keysOf(metadata, fetch)).catch((error: unknown) => {
        if (error instanceof LoginError) throw error
        const reason = error instanceof Error ? error.message : String(error)
        throw new LoginError('metadata_incomplete', { cause: error, details: { reason } })
      })
    : signed
  // OpenID Connect Core 1.0, section 6.1, wants these two beside the object, in which they count.
  return { request, response_type, scope }
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
  const set: unknown = await response.json().catch(() => undefined)
  const keys = typeof set === 'object' && set !== null && 'keys' in set ? set.keys : undefined
  if (response.status !== 200 || !Array.isArray(keys)) throw new Error('the key set of the IdP is unusable')
  return keys.filter((key): key is JWK => typeof key === 'object' && key !== null)
}
