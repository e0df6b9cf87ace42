import * as oidc from 'openid-client'
import { membersOf } from '../../config/json/json-object.ts'
import type { Fetch } from '../http/limited-fetch.ts'
import type { AssertionAudiences } from './assertion-audience.ts'
import { type Signer, signClaims } from './client-signature.ts'

/** Seconds that an assertion is good for: it is made for one request. */
const ASSERTION_S = 60
const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

export interface AssertionParts {
  readonly clientId: string
  readonly issuer: string
  /** Asked at each request: the client secret may have changed. */
  readonly signer: () => Signer
  readonly audiences: AssertionAudiences
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** Announces an assertion; {@link withAssertions} makes it, since only there it is known where the request goes. */
export function announceAssertion(): oidc.ClientAuth {
  return (_server, { client_id: id }, body) => {
    body.set('client_id', id)
    body.set('client_assertion_type', JWT_BEARER)
  }
}

/**
 * Requests with an assertion of their own each (RFC 7523, section 3, and OpenID Connect Core 1.0, section 9). One that
 * the IdP refuses for its audience, as far as that can be told, is made once more with the other audience: no code is
 * used up by then, and no DPoP proof, since an IdP looks at both only when it knows who asks.
 */
export function withAssertions(fetch: Fetch, parts: AssertionParts): Fetch {
  const { issuer, audiences } = parts
  return async (url, init) => {
    if (!isAsserting(init)) return fetch(url, init)
    const { body } = init
    const send = async (audience: string) => {
      const signed = new URLSearchParams(body)
      signed.set('client_assertion', await assertion(audience, parts))
      const response = await fetch(url, { ...init, body: signed })
      const verdict = await verdictOn(response)
      if (verdict === 'accepted') audiences.accept(url, issuer, audience)
      return { response, verdict }
    }
    const [audience, other] = audiences.toTry(url, issuer)
    const first = await send(audience)
    if (first.verdict !== 'refused' || other === undefined) return first.response
    const second = await send(other)
    // With both refused it was not the audience: the first word on it says more.
    return second.verdict === 'refused' ? first.response : second.response
  }
}

/** Whether a request was announced to bear an assertion. */
export function isAsserting<Init extends { readonly body?: unknown }>(
  init: Init,
): init is Init & { readonly body: URLSearchParams } {
  return init.body instanceof URLSearchParams && init.body.get('client_assertion_type') === JWT_BEARER
}

function assertion(audience: string, { clientId, signer, now }: AssertionParts): Promise<string> {
  const iat = Math.floor(now() / 1000)
  const claims = { iss: clientId, sub: clientId, aud: audience, jti: oidc.randomNonce(), iat, nbf: iat }
  return signClaims(signer(), { ...claims, exp: iat + ASSERTION_S }, 'JWT')
}

/** What an answer says of the assertion: any other OAuth error comes from an IdP that knows by then who asks. */
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
  // Glewlwyd 2.7 says so by the status 403 alone.
  if (error === 'invalid_client' || (isForbidden && error === undefined)) return 'refused'
  return response.status === 400 && typeof error === 'string' ? 'accepted' : 'unknown'
}
