import { compactVerify } from 'jose'
import { isJsonObject, type JsonObject } from '../../config/json/json-object.ts'
import { LoginError } from '../../errors.ts'
import { type ClientIdentity, isShared, secretOf } from '../authentication/client-signature.ts'
import type { Fetch } from '../http/limited-fetch.ts'
import { decrypt, encryptionOf, isEncrypted } from './encryption.ts'

/**
 * Decrypts an ID or logout token if the Client object requires encryption (OpenID Connect Core 1.0, section 3.1.3.7,
 * step 1).
 *
 * @throws LoginError `id_token_invalid`
 */
export async function openIdToken(token: string, identity: ClientIdentity): Promise<string> {
  const { id_token_encrypted_response_alg: alg, id_token_encrypted_response_enc: enc } = identity.client
  const encryption = encryptionOf(alg, enc)
  if (!encryption) return token
  if (!isEncrypted(token))
    throw new LoginError('id_token_invalid', {
      details: { reason: 'the token is not encrypted', received: 'not encrypted', expected: `encrypted: ${alg}` },
      remedy:
        'The ID token is not encrypted, but `client.id_token_encrypted_response_alg` requires it. Remove that member, or have the IdP encrypt ID tokens for this client, with a key of `auth-oidc-jwks`.',
    })
  return decrypt(token, encryption, identity).catch((error: unknown) => {
    throw new LoginError('id_token_invalid', { cause: error, details: { reason: 'the token cannot be decrypted' } })
  })
}

/**
 * Verifies an ID token that is signed with the client secret; openid-client cannot.
 *
 * @throws LoginError `id_token_invalid`
 */
export async function verifySharedSignature(idToken: string, { client }: ClientIdentity): Promise<void> {
  const algorithm = client.id_token_signed_response_alg
  if (!isShared(algorithm)) return
  await verifyWithSecret(idToken, secretOf(client), algorithm).catch((error: unknown) => {
    throw new LoginError('id_token_invalid', {
      cause: error,
      details: { reason: 'the signature was not made with the client secret' },
    })
  })
}

async function verifyWithSecret(token: string, secret: string, algorithm: string): Promise<string> {
  const { payload } = await compactVerify(token, new TextEncoder().encode(secret), { algorithms: [algorithm] })
  return new TextDecoder().decode(payload)
}

/** The addresses of the endpoints that may encrypt their answers, exactly as openid-client requests them. */
export interface AnsweringEndpoints {
  readonly token: string | undefined
  readonly userinfo: string | undefined
}

/**
 * Decrypts ID tokens and UserInfo for openid-client. The library would accept unencrypted ones too, and cannot decrypt
 * unsigned UserInfo or, during a key rotation, tokens without a key id.
 */
export function openAnswers(inner: Fetch, endpoints: AnsweringEndpoints, identity: ClientIdentity): Fetch {
  const { client } = identity
  const tokens = client.id_token_encrypted_response_alg === undefined ? undefined : endpoints.token
  const isProtected =
    client.userinfo_encrypted_response_alg !== undefined || isShared(client.userinfo_signed_response_alg)
  const userinfo = isProtected ? endpoints.userinfo : undefined
  if (tokens === undefined && userinfo === undefined) return inner
  return async (url, init) => {
    const response = await inner(url, init)
    if (response.status !== 200) return response
    if (url === tokens) return openTokens(response, identity)
    return url === userinfo ? openUserInfo(response, identity) : response
  }
}

async function openTokens(response: Response, identity: ClientIdentity): Promise<Response> {
  const text = await response.text()
  const unchanged = new Response(text, response)
  const answer = jsonObject(text)
  if (!answer || typeof answer.id_token !== 'string') return unchanged
  return new Response(JSON.stringify({ ...answer, id_token: await openIdToken(answer.id_token, identity) }), response)
}

async function openUserInfo(response: Response, identity: ClientIdentity): Promise<Response> {
  const { client } = identity
  const encryption = encryptionOf(client.userinfo_encrypted_response_alg, client.userinfo_encrypted_response_enc)
  const algorithm = client.userinfo_signed_response_alg
  let text = await response.text()
  let plain = !isJwt(response)
  if (encryption) {
    if (plain || !isEncrypted(text)) throw unusable('the answer is not encrypted', undefined, NOT_ENCRYPTED)
    text = await decrypt(text, encryption, identity).catch((error: unknown) => {
      throw unusable('the answer cannot be decrypted', error)
    })
    // The decrypted text may be claims without a signature. The library then checks whether a signature is required.
    plain = jsonObject(text) !== undefined
  }
  // Only the IdP and this client know the secret. So the signature also proves that the IdP issued the claims for this
  // client.
  if (isShared(algorithm)) {
    if (plain) throw unusable('the answer is not signed', undefined, NOT_SIGNED)
    text = await verifyWithSecret(text, secretOf(client), algorithm).catch((error: unknown) => {
      throw unusable('the signature was not made with the client secret', error)
    })
    plain = true
  }
  const headers = new Headers(response.headers)
  headers.set('content-type', plain ? 'application/json' : 'application/jwt')
  return new Response(text, { status: response.status, headers })
}

const NOT_ENCRYPTED =
  'The UserInfo answer is not encrypted, but `client.userinfo_encrypted_response_alg` requires it. Remove that member, or have the IdP encrypt UserInfo for this client, with a key of `auth-oidc-jwks`.'
const NOT_SIGNED =
  'The UserInfo answer is not signed, but `client.userinfo_signed_response_alg` requires it. Remove that member, or have the IdP sign UserInfo for this client.'

function unusable(reason: string, cause?: unknown, remedy?: string): LoginError {
  return new LoginError('userinfo_failed', { cause, details: { reason }, ...(remedy === undefined ? {} : { remedy }) })
}

function isJwt(response: Response): boolean {
  return response.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase() === 'application/jwt'
}

function jsonObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
