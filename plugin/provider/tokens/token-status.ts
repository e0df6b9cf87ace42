import * as oidc from 'openid-client'
import type { DomainSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import type { AuthenticatedEndpoint } from '../authentication/client-options.ts'
import { translateTokenFault } from '../faults.ts'
import { endpointAddress } from '../http/endpoints.ts'

/** Which of the two a token is, so that the IdP looks in the right place first. */
export type TokenKind = 'access_token' | 'refresh_token'

/** Verbs about tokens that this server holds. Every one throws LoginError only. */
export interface TokenVerbs {
  /**
   * Whether a token is active (RFC 7662). An IdP also calls inactive what a client asks about that it does not know by
   * its authentication, or that may not ask (RFC 7662, section 2.2; authentik does): so that is doubted of an access
   * token which its UserInfo endpoint takes.
   *
   * @returns null: the IdP has no introspection endpoint, so nobody can tell
   * @throws LoginError `introspection_failed`, `provider_unreachable`
   */
  introspect(token: string, kind?: TokenKind): Promise<boolean | null>
  /**
   * Makes a token worthless at the IdP (RFC 7009); one that it does not know is worthless already.
   *
   * @returns false: the IdP has no revocation endpoint, and the token lives until it expires
   * @throws LoginError
   */
  revoke(token: string, kind: TokenKind): Promise<boolean>
}

/** @param configured what is known of the IdP now, with this server's way to authenticate at an endpoint */
export function tokenVerbs(
  { credentials }: DomainSettings,
  configured: (endpoint: AuthenticatedEndpoint) => Promise<oidc.Configuration>,
): TokenVerbs {
  return {
    async introspect(token, kind = 'access_token') {
      const config = await configured('introspection')
      const metadata = config.serverMetadata()
      if (!endpointAddress(metadata, credentials, 'introspection_endpoint')) return null
      try {
        const { active, error } = await oidc.tokenIntrospection(config, token, { token_type_hint: kind })
        if (active) return true
        if (error !== undefined) throw notSaid('the answer is not active and an error at the same time')
        const userInfo = endpointAddress(metadata, credentials, 'userinfo_endpoint')
        if (kind !== 'access_token' || !userInfo || !(await isTaken(config, token, userInfo))) return false
        throw notSaid('tokens are called inactive that the UserInfo endpoint takes')
      } catch (error) {
        throw translateTokenFault(error, 'introspection_failed')
      }
    },
    async revoke(token, kind) {
      const config = await configured('revocation')
      if (!endpointAddress(config.serverMetadata(), credentials, 'revocation_endpoint')) return false
      try {
        await oidc.tokenRevocation(config, token, { token_type_hint: kind })
        return true
      } catch (error) {
        throw translateTokenFault(error, 'revocation_failed')
      }
    },
  }
}

function notSaid(reason: string): LoginError {
  return new LoginError('introspection_failed', { details: { reason } })
}

/** Whether an endpoint takes an access token. @throws when neither a yes nor a no came back */
async function isTaken(config: oidc.Configuration, token: string, endpoint: string): Promise<boolean> {
  const { status } = await oidc
    .fetchProtectedResource(config, token, new URL(endpoint), 'GET')
    .catch((error: unknown) => {
      if (error instanceof oidc.WWWAuthenticateChallengeError) return error
      throw error
    })
  if (status === 200) return true
  // Asked too often, it says nothing of the token.
  if (status >= 400 && status < 500 && status !== 429) return false
  throw new LoginError('introspection_failed', { details: { endpoint: 'userinfo_endpoint', status } })
}
