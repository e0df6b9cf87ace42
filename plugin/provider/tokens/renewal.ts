import * as oidc from 'openid-client'
import type { Tokens } from '../../host/port.ts'
import type { DpopKey } from '../authentication/dpop.ts'
import { translateTokenFault } from '../faults.ts'

export interface RenewalDeps {
  readonly now: () => number
  /** Null: access tokens are bound to no key. */
  readonly dpop: DpopKey | null
  /** With this server's way to authenticate at the token endpoint, and used for nothing else. */
  readonly configured: () => Promise<oidc.Configuration>
  /** Told of what the token endpoint objects to, as it names it. */
  readonly onRefused: (refreshToken: string, error: unknown) => void
}

/**
 * New tokens for those of a session (RFC 6749, section 6). To many IdPs it is what says that the session there is still in use.
 *
 * @returns null: there is no refresh token
 * @throws LoginError `token_request_failed`, `provider_unreachable`
 */
export type Renew = (tokens: Tokens) => Promise<Tokens | null>

export function createRenewal({ now, dpop, configured, onRefused }: RenewalDeps): Renew {
  return async (tokens) => {
    const { refresh } = tokens
    if (refresh === null) return null
    const config = await configured()
    const inner = config[oidc.customFetch]
    if (inner) config[oidc.customFetch] = withoutIdToken(inner)
    try {
      const fresh = await oidc.refreshTokenGrant(config, refresh, {}, dpop ? { DPoP: await dpop(config) } : {})
      const lifeS = fresh.expiresIn()
      return {
        ...tokens,
        access: fresh.access_token,
        accessExpiresAt: lifeS === undefined ? null : now() + lifeS * 1000,
        refresh: fresh.refresh_token ?? refresh,
      }
    } catch (error) {
      const fault = translateTokenFault(error, 'token_request_failed')
      onRefused(refresh, fault.details.error)
      throw fault
    }
  }
}

/**
 * Takes the ID token out of an answer. Nobody is signed in by it, and an objection to it would lose the new refresh token where the one
 * before is used up.
 */
function withoutIdToken(inner: oidc.CustomFetch): oidc.CustomFetch {
  return async (url, init) => {
    const response = await inner(url, init)
    if (response.status !== 200) return response
    const answer: unknown = await response.json()
    return Response.json({ ...(answer as object), id_token: undefined }, { headers: response.headers })
  }
}
