import * as oidc from 'openid-client'
import type { ClientSettings } from '../config/settings.ts'
import { LoginError } from '../errors.ts'

/** Client metadata that openid-client judges answers by. */
export function clientMetadata(client: ClientSettings): Partial<oidc.ClientMetadata> {
  return {
    client_id: client.client_id,
    id_token_signed_response_alg: client.id_token_signed_response_alg,
    require_auth_time: client.require_auth_time,
    ...(client.default_max_age === undefined ? {} : { default_max_age: client.default_max_age }),
    ...(client.userinfo_signed_response_alg === undefined
      ? {}
      : { userinfo_signed_response_alg: client.userinfo_signed_response_alg }),
  }
}

/**
 * How this server authenticates at the token endpoint.
 *
 * @throws LoginError `client_keys_missing`
 */
export function clientAuthentication(client: ClientSettings): oidc.ClientAuth {
  switch (client.token_endpoint_auth_method) {
    case 'none':
      return oidc.None()
    case 'client_secret_basic':
      return oidc.ClientSecretBasic(client.client_secret)
    case 'client_secret_post':
      return oidc.ClientSecretPost(client.client_secret)
    case 'client_secret_jwt':
      return oidc.ClientSecretJwt(client.client_secret)
    case 'private_key_jwt':
      throw new LoginError('client_keys_missing', { details: { member: 'token_endpoint_auth_method' } })
  }
}

const NEED_KEYS = [
  'id_token_encrypted_response_alg',
  'userinfo_encrypted_response_alg',
  'request_object_signing_alg',
  'request_object_encryption_alg',
] as const satisfies readonly (keyof ClientSettings)[]

/**
 * Refuses what cannot be done without private keys of this client: sending an unsigned request, or taking an unencrypted token,
 * where the administrator asked for more would be worse than no login.
 *
 * @throws LoginError `client_keys_missing`
 */
export function assertNoKeysNeeded(client: ClientSettings): void {
  const member = NEED_KEYS.find((name) => client[name] !== undefined)
  if (member) throw new LoginError('client_keys_missing', { details: { member } })
  if (client.tls_client_certificate_bound_access_tokens) {
    throw new LoginError('client_keys_missing', { details: { member: 'tls_client_certificate_bound_access_tokens' } })
  }
}
