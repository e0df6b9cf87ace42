import * as oidc from 'openid-client'
import type { DomainSettings } from '../../config/settings.ts'
import type { AuthenticatedEndpoint } from '../authentication/client-options.ts'
import { translateTokenFault } from '../faults.ts'
import { endpointAddress } from '../http/endpoint-address.ts'

/** What an IdP says of a token (RFC 7662). Where it is not active, there is nothing more. */
export interface TokenStatus {
  readonly active: boolean
  readonly claims: Readonly<Record<string, unknown>>
}

/** Which of the two a token is, so that the IdP looks in the right place first. */
export type TokenKind = 'access_token' | 'refresh_token'

/** Verbs about tokens that this server holds. Every one throws LoginError only. */
export interface TokenVerbs {
  /** Null: the IdP has no introspection endpoint, so nobody can tell. @throws LoginError */
  introspect(token: string, kind?: TokenKind): Promise<TokenStatus | null>
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
      if (!endpointAddress(config.serverMetadata(), credentials, 'introspection_endpoint')) return null
      try {
        const { active, ...claims } = await oidc.tokenIntrospection(config, token, { token_type_hint: kind })
        return { active, claims: active ? claims : {} }
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
