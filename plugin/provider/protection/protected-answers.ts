import { compactVerify } from 'jose'
import { isJsonObject, type JsonObject } from '../../config/json/json-object.ts'
import { LoginError } from '../../errors.ts'
import { type ClientIdentity, isShared, secretOf } from '../authentication/client-signature.ts'
import type { Fetch } from '../http/limited-fetch.ts'
import { decrypt, encryptionOf, isEncrypted } from './encryption.ts'

/**
 * An ID or logout token as it was signed. Where the Client object says that they are encrypted, one that is not is
 * refused: anybody on the way could have read it. Source: OpenID Connect Core 1.0, section 3.1.3.7, step 1.
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
        'The ID token is not encrypted, though `client.id_token_encrypted_response_alg` says that it is: remove that, or have the IdP encrypt ID tokens for this client, with a key of `auth-oidc-jwks`.',
    })
  return decrypt(token, encryption, identity).catch((error: unknown) => {
    throw new LoginError('id_token_invalid', { cause: error, details: { reason: 'the token cannot be decrypted' } })
  })
}

/**
 * Verifies an ID token that is signed by the client secret; openid-client knows key pairs only. Others are none of its
 * business.
 *
 * @throws LoginError `id_token_invalid`
 */
export async function verifySharedSignature(idToken: string, { client }: ClientIdentity): Promise<void> {
  const algorithm = client.id_token_signed_response_alg
  if (!isShared(algorithm)) return
  await verifyBySecret(idToken, secretOf(client), algorithm).catch((error: unknown) => {
    throw new LoginError('id_token_invalid', {
      cause: error,
      details: { reason: 'the signature is not of the client secret' },
    })
  })
}

async function verifyBySecret(token: string, secret: string, algorithm: string): Promise<string> {
  const { payload } = await compactVerify(token, new TextEncoder().encode(secret), { algorithms: [algorithm] })
  return new TextDecoder().decode(payload)
}

/** Addresses of the endpoints whose answers may be encrypted, as they are requested. */
export interface AnsweringEndpoints {
  readonly token: string | undefined
  readonly userinfo: string | undefined
}

/**
 * Hands openid-client the ID tokens and UserInfo answers as they were before they were encrypted: it would take ones
 * that are not encrypted too, opens no UserInfo answer that is encrypted alone, and none without a key id while a key
 * is being rotated.
 */
export function openAnswers(inner: Fetch, endpoints: AnsweringEndpoints, identity: ClientIdentity): Fetch {
  const { client } = identity
  const tokens = client.id_token_encrypted_response_alg === undefined ? undefined : endpoints.token
  const closed = client.userinfo_encrypted_response_alg !== undefined || isShared(client.userinfo_signed_response_alg)
  const userinfo = closed ? endpoints.userinfo : undefined
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
  const same = new Response(text, response)
  const answer = jsonObject(text)
  if (!answer || typeof answer.id_token !== 'string') return same
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
    // Encrypted alone: what is inside are the claims themselves. Whether they had to be signed, the library judges.
    plain = jsonObject(text) !== undefined
  }
  // Only the two sides know the secret: it tells from whom and for whom the claims are.
  if (isShared(algorithm)) {
    if (plain) throw unusable('the answer is not signed', undefined, NOT_SIGNED)
    text = await verifyBySecret(text, secretOf(client), algorithm).catch((error: unknown) => {
      throw unusable('the signature is not of the client secret', error)
    })
    plain = true
  }
  const headers = new Headers(response.headers)
  headers.set('content-type', plain ? 'application/json' : 'application/jwt')
  return new Response(text, { status: response.status, headers })
}

const NOT_ENCRYPTED =
  'The UserInfo answer is not encrypted, though `client.userinfo_encrypted_response_alg` says that it is: remove that, or have the IdP encrypt UserInfo for this client, with a key of `auth-oidc-jwks`.'
const NOT_SIGNED =
  'The UserInfo answer is not signed, though `client.userinfo_signed_response_alg` says that it is: remove that, or have the IdP sign UserInfo for this client.'

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
