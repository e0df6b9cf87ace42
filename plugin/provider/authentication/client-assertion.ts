import * as oidc from 'openid-client'
import { membersOf } from '../../config/json/json-object.ts'
import type { Fetch } from '../http/limited-fetch.ts'
import type { AssertionAudiences } from './assertion-audience.ts'
import { type Signer, signClaims } from './client-signature.ts'

/** Lifetime of an assertion in seconds. A new assertion is signed for each request. */
const ASSERTION_S = 60
const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

export interface AssertionParts {
  readonly clientId: string
  readonly issuer: string
  /** Returns the current signing key. Called for each request, because the client secret may have changed. */
  readonly signer: () => Signer
  readonly audiences: AssertionAudiences
  /** Returns the current time in milliseconds since 1970. */
  readonly now: () => number
}

/** Marks a request for {@link withAssertions}. The assertion's audience may be the request's address, unknown here. */
export function announceAssertion(): oidc.ClientAuth {
  return (_server, { client_id: id }, body) => {
    body.set('client_id', id)
    body.set('client_assertion_type', JWT_BEARER)
  }
}

/**
 * Signs a new assertion for each request (RFC 7523, section 3; OpenID Connect Core 1.0, section 9). Sends a refused
 * request again with the other audience. This is safe: IdPs authenticate the client before they use up a code or a DPoP
 * proof.
 */
export function withAssertions(fetch: Fetch, parts: AssertionParts): Fetch {
  const { issuer, audiences } = parts
  return async (url, init) => {
    if (!isAsserting(init)) return fetch(url, init)
    const { body } = init
    const send = async (audience: string) => {
      const signed = new URLSearchParams(body)
      signed.set('client_assertion', await createAssertion(audience, parts))
      const response = await fetch(url, { ...init, body: signed })
      const verdict = await verdictOn(response)
      if (verdict === 'accepted') audiences.accept(url, issuer, audience)
      return { response, verdict }
    }
    const [firstAudience, secondAudience] = audiences.toTry(url, issuer)
    const first = await send(firstAudience)
    if (first.verdict !== 'refused' || secondAudience === undefined) return first.response
    const second = await send(secondAudience)
    // If the IdP refuses both assertions, the audience was not the reason. Its first answer then says more about the
    // cause.
    return second.verdict === 'refused' ? first.response : second.response
  }
}

/** Whether a request is marked as one that needs a client assertion. */
export function isAsserting<Init extends { readonly body?: unknown }>(
  init: Init,
): init is Init & { readonly body: URLSearchParams } {
  return init.body instanceof URLSearchParams && init.body.get('client_assertion_type') === JWT_BEARER
}

function createAssertion(audience: string, { clientId, signer, now }: AssertionParts): Promise<string> {
  const iat = Math.floor(now() / 1000)
  const claims = { iss: clientId, sub: clientId, aud: audience, jti: oidc.randomNonce(), iat, nbf: iat }
  return signClaims(signer(), { ...claims, exp: iat + ASSERTION_S }, 'JWT')
}

/**
 * Judges from the answer whether the IdP accepted the assertion. An OAuth error other than `invalid_client` means that
 * the IdP has authenticated the client.
 */
async function verdictOn(response: Response): Promise<'accepted' | 'refused' | 'unknown'> {
  if (response.ok) return 'accepted'
  const isForbidden = response.status === 401 || response.status === 403
  if (response.status !== 400 && !isForbidden) return 'unknown'
  const { error } = membersOf(
    await response
      .clone()
      .json()
      .catch(() => undefined),
  )
  // Glewlwyd 2.7 answers a refused assertion with status 403 and no error code.
  if (error === 'invalid_client' || (isForbidden && error === undefined)) return 'refused'
  return response.status === 400 && typeof error === 'string' ? 'accepted' : 'unknown'
}
