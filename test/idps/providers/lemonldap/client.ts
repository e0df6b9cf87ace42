import type { ClientRegistration } from '../../support/real-idp.ts'
import { refuseOthers } from '../../support/understood.ts'

/** The tables of a relying party's configuration, as the portal's hook `getOidcRpConfig` returns them. */
export interface RelyingParty {
  readonly confKey: string
  readonly options: Readonly<Record<string, string | number>>
  /** Maps a claim to an attribute of the session, its type, and whether it is an array. */
  readonly attributes: Readonly<Record<string, string>>
  /** Maps a scope to the claims that come with it, in addition to the standard ones. */
  readonly extraClaims: Readonly<Record<string, string>>
  /** Maps a scope to the rule that grants it even unasked. */
  readonly scopeRules: Readonly<Record<string, string>>
}

const UNDERSTOOD = [
  ...(['token_endpoint_auth_signing_alg', 'jwks_uri', 'claimsIn'] as const),
  ...(['id_token_signed_response_alg', 'id_token_encrypted_response_alg'] as const),
  ...(['id_token_encrypted_response_enc', 'userinfo_signed_response_alg'] as const),
  ...(['userinfo_encrypted_response_alg', 'userinfo_encrypted_response_enc'] as const),
  ...(['request_object_signing_alg', 'require_signed_request_object'] as const),
  ...(['backchannel_logout_uri', 'backchannel_logout_session_required'] as const),
]

/**
 * @param consents whether the portal asks users for consent. After it has asked, its logout does not return to the host
 * the next time
 */
export function toRelyingParty(client: ClientRegistration, consents: boolean): RelyingParty {
  refuseOthers(client, UNDERSTOOD)
  if (client.claimsIn === 'id_token') throw new Error('its UserInfo endpoint has all that the ID token has')
  const { client_id, client_secret, groups } = client
  const method = client.token_endpoint_auth_method ?? 'client_secret_basic'
  const options = {
    ClientID: client_id,
    ClientSecret: client_secret,
    ...(method === 'none' ? { Public: 1 } : {}),
    // LemonLDAP counts a signed request as client authentication too. It accepts one method for both, or any method.
    AuthMethod: method === 'none' || client.require_signed_request_object ? undefined : method,
    RedirectUris: client.redirect_uris.join(' '),
    PostLogoutRedirectUris: client.post_logout_redirect_uris?.join(' '),
    UserIDAttr: 'uid',
    BypassConsent: consents ? 0 : 1,
    RefreshToken: client.renewal ? 1 : 0,
    RefreshTokenRotation: client.renewal?.rotates ? 1 : 0,
    JwksUri: client.jwks_uri,
    Jwks: client.jwks && JSON.stringify(client.jwks),
    IDTokenSignAlg: client.id_token_signed_response_alg ?? 'RS256',
    IdTokenEncKeyMgtAlg: client.id_token_encrypted_response_alg,
    IdTokenEncContentEncAlg: client.id_token_encrypted_response_enc,
    IDTokenForceClaims: client.claimsIn === 'userinfo' ? 0 : 1,
    UserInfoSignAlg: client.userinfo_signed_response_alg,
    UserInfoEncKeyMgtAlg: client.userinfo_encrypted_response_alg,
    UserInfoEncContentEncAlg: client.userinfo_encrypted_response_enc,
    AuthRequiredForAuthorize: client.require_signed_request_object ? 1 : 0,
    LogoutUrl: client.backchannel_logout_uri,
    LogoutType: 'back',
    LogoutSessionRequired: client.backchannel_logout_session_required ? 1 : 0,
  }
  return {
    confKey: client_id,
    options: Object.fromEntries(
      Object.entries(options).flatMap(([name, value]) =>
        value === undefined ? [] : [[`oidcRPMetaDataOptions${name}`, value] as const],
      ),
    ),
    attributes: { name: 'cn', email: 'mail', ...(groups ? { groups: 'groups;string;always' } : {}) },
    extraClaims: groups ? { groups: 'groups' } : {},
    scopeRules: groups === 'unasked' ? { groups: '1' } : {},
  }
}
