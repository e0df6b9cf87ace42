import type { ClientRegistration } from '../../support/real-idp.ts'
import { refuseOthers } from '../../support/understood.ts'

const UNDERSTOOD = [
  ...(['token_endpoint_auth_signing_alg', 'claimsIn'] as const),
  ...(['tls_client_auth_subject_dn', 'tls_client_certificate_bound_access_tokens'] as const),
  ...(['id_token_signed_response_alg', 'id_token_encrypted_response_alg'] as const),
  ...(['id_token_encrypted_response_enc', 'authorization_signed_response_alg'] as const),
  // Glewlwyd accepts signed requests from every client and cannot require them of one.
  ...(['request_object_signing_alg', 'require_signed_request_object'] as const),
  // Glewlwyd requires pushed requests of all clients or of none.
  'require_pushed_authorization_requests',
  ...(['dpop_bound_access_tokens', 'backchannel_logout_uri', 'backchannel_logout_session_required'] as const),
] as const

/** Properties that Glewlwyd's database stores only once they are declared. `true`: several values. */
export const FURTHER_PROPERTIES: Readonly<Record<string, boolean>> = {
  post_logout_redirect_uris: true,
  sign_kid: false,
  dpop_bound_access_tokens: false,
  tls_client_auth_subject_dn: false,
}

/** @param keyId returns the id of the key that signs by an algorithm */
export function toClient(client: ClientRegistration, keyId: (alg: string) => string): Record<string, unknown> {
  refuseOthers(client, UNDERSTOOD)
  const { client_id, claimsIn } = client
  // Glewlwyd sends the same claims in both places, which suffices where the case is about something else.
  if (claimsIn !== undefined && !client.dpop_bound_access_tokens) throw new Error('sends the same claims in both')
  const method = client.token_endpoint_auth_method ?? 'client_secret_basic'
  const { id_token_encrypted_response_alg: encryption } = client
  return {
    client_id,
    name: client_id,
    enabled: true,
    confidential: method !== 'none',
    client_secret: client.client_secret ?? '',
    redirect_uri: client.redirect_uris,
    post_logout_redirect_uris: client.post_logout_redirect_uris ?? [],
    // Introspection and revocation need the grant type client_credentials.
    authorization_type: ['code', 'token', 'id_token', 'refresh_token', 'client_credentials'],
    scope: ['openid'],
    // Glewlwyd counts a signed request as client authentication too.
    token_endpoint_auth_method:
      client.request_object_signing_alg === undefined ? [method] : [method, 'private_key_jwt'],
    sign_kid: keyId(client.id_token_signed_response_alg ?? 'RS256'),
    request_object_signing_alg: client.request_object_signing_alg,
    token_endpoint_signing_alg: client.token_endpoint_auth_signing_alg,
    jwks: client.jwks,
    ...(encryption === undefined
      ? {}
      : {
          alg: encryption,
          enc: client.id_token_encrypted_response_enc ?? 'A128CBC-HS256',
          alg_kid: 'enc-1',
          encrypt_id_token: '1',
        }),
    tls_client_auth_subject_dn: client.tls_client_auth_subject_dn,
    dpop_bound_access_tokens: client.dpop_bound_access_tokens ? '1' : undefined,
    backchannel_logout_uri: client.backchannel_logout_uri,
    backchannel_logout_session_required:
      client.backchannel_logout_uri && String(client.backchannel_logout_session_required ?? false),
  }
}
