import * as oidc from 'openid-client'
import type { DomainSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import type { AuthenticatedEndpoint } from '../authentication/client-options.ts'
import { translateTokenFault } from '../faults.ts'
import { endpointAddress } from '../http/endpoints.ts'

/** The kind of a token. It is sent to the IdP as `token_type_hint`, which helps the IdP find the token. */
export type TokenKind = 'access_token' | 'refresh_token'

/** Requests about tokens that this server holds. Every method throws LoginError only. */
export interface TokenVerbs {
  /**
   * Whether a token is active (RFC 7662). An access token is inactive only if the UserInfo endpoint rejects it too.
   * IdPs such as authentik also answer "inactive" to clients without the permission (section 2.2).
   *
   * @returns null if the IdP has no introspection endpoint
   * @throws LoginError `introspection_failed`, `provider_unreachable`
   */
  introspect(token: string, kind?: TokenKind): Promise<boolean | null>
  /**
   * Revokes a token (RFC 7009). An unknown token counts as revoked.
   *
   * @returns false without a revocation endpoint
   * @throws LoginError
   */
  revoke(token: string, kind: TokenKind): Promise<boolean>
}

/** @param newConfiguration creates an openid-client configuration that authenticates this server at an endpoint */
export function tokenVerbs(
  { credentials }: DomainSettings,
  newConfiguration: (endpoint: AuthenticatedEndpoint) => Promise<oidc.Configuration>,
): TokenVerbs {
  return {
    async introspect(token, kind = 'access_token') {
      const config = await newConfiguration('introspection')
      const metadata = config.serverMetadata()
      if (!endpointAddress(metadata, credentials, 'introspection_endpoint')) return null
      try {
        const { active, error } = await oidc.tokenIntrospection(config, token, { token_type_hint: kind })
        if (active) return true
        if (error !== undefined) throw unclear('the introspection answer has both `active: false` and an error')
        const userInfo = endpointAddress(metadata, credentials, 'userinfo_endpoint')
        if (kind !== 'access_token' || !userInfo || !(await isAccepted(config, token, userInfo))) return false
        throw unclear('introspection calls the token inactive, but the UserInfo endpoint accepts it')
      } catch (error) {
        throw translateTokenFault(error, 'introspection_failed')
      }
    },
    async revoke(token, kind) {
      const config = await newConfiguration('revocation')
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

function unclear(reason: string): LoginError {
  return new LoginError('introspection_failed', { details: { reason } })
}

/**
 * Whether an endpoint accepts an access token.
 *
 * @throws if the answer neither accepts nor rejects the token
 */
async function isAccepted(config: oidc.Configuration, token: string, endpoint: string): Promise<boolean> {
  const { status } = await oidc
    .fetchProtectedResource(config, token, new URL(endpoint), 'GET')
    .catch((error: unknown) => {
      if (error instanceof oidc.WWWAuthenticateChallengeError) return error
      throw error
    })
  if (status === 200) return true
  // Status 429 (too many requests) does not mean that the token was rejected.
  if (status >= 400 && status < 500 && status !== 429) return false
  throw new LoginError('introspection_failed', { details: { endpoint: 'userinfo_endpoint', status } })
}
