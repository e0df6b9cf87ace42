import { type Jwk, type KeyKind, makeKey } from '../../../support/client-keys.ts'

const KINDS: Readonly<Record<string, KeyKind>> = {
  RS256: 'RSA',
  RS384: 'RSA',
  RS512: 'RSA',
  PS256: 'RSA',
  ES256: 'P-256',
  ES512: 'P-521',
  EdDSA: 'Ed25519',
}

/** Returns one key for each algorithm. A client's configuration names the key that signs its tokens. */
export function makeSigningKeys(version: number): readonly Jwk[] {
  return Object.entries(KINDS).map(
    ([alg, kind]) => makeKey(kind, { alg, kid: keyIdOf(alg, version), use: 'sig' }).private,
  )
}

export const keyIdOf = (alg: string, version: number): string => `${alg}-${version}`

export interface PluginSettings {
  readonly issuer: string
  readonly keys: readonly Jwk[]
  /** Whether the claim `groups` is sent with every scope. */
  readonly groupsUnasked: boolean
  readonly pushedOnly: boolean
  readonly pkce: boolean
  /** Whether each refresh token can be used only once. */
  readonly rotates: boolean
}

/** Returns the parameters of the plugin `oidc` as its settings page sends them. */
export function pluginParameters({
  issuer,
  keys,
  groupsUnasked,
  pushedOnly,
  pkce,
  rotates,
}: PluginSettings): Record<string, unknown> {
  return {
    iss: issuer,
    'jwks-private': JSON.stringify({ keys }),
    'default-kid': keys[0]?.kid,
    'client-sign_kid-parameter': 'sign_kid',
    'subject-type': 'public',
    'access-token-duration': 3600,
    'refresh-token-duration': 1_209_600,
    'code-duration': 600,
    'refresh-token-rolling': true,
    'refresh-token-one-use': rotates ? 'always' : 'never',
    'auth-type-code-enabled': true,
    'auth-type-token-enabled': true,
    'auth-type-id-token-enabled': true,
    'auth-type-client-enabled': true,
    'auth-type-refresh-enabled': true,
    'allowed-scope': ['openid', 'profile', 'email', 'groups'],
    'name-claim': 'on-demand',
    'name-claim-scope': ['profile'],
    'email-claim': 'on-demand',
    'email-claim-scope': ['email'],
    claims: [
      {
        name: 'groups',
        'user-property': 'groups',
        type: 'string',
        mandatory: groupsUnasked,
        'on-demand': true,
        scope: ['groups'],
      },
    ],
    'pkce-allowed': pkce,
    'introspection-revocation-allowed': true,
    'introspection-revocation-allow-target-client': true,
    'session-management-allowed': true,
    'session-cookie-name': 'GLEWLWYD2_OIDC_SID',
    'session-cookie-expiration': 2_419_200,
    'front-channel-logout-allowed': true,
    'back-channel-logout-allowed': true,
    'request-parameter-allow': true,
    'client-jwks-parameter': 'jwks',
    'encrypt-out-token-allow': true,
    'client-enc-parameter': 'enc',
    'client-alg-parameter': 'alg',
    'client-alg_kid-parameter': 'alg_kid',
    'client-encrypt_id_token-parameter': 'encrypt_id_token',
    'client-cert-source': 'TLS',
    'client-cert-self-signed-allowed': true,
    'oauth-dpop-allowed': true,
    'oauth-dpop-iat-duration': 60,
    'oauth-dpop-dpop_bound_access_tokens-property': 'dpop_bound_access_tokens',
    'oauth-par-allowed': true,
    'oauth-par-required': pushedOnly,
    'oauth-par-request_uri-prefix': 'urn:ietf:params:oauth:request_uri:',
    'oauth-fapi-allow-jarm': true,
  }
}
