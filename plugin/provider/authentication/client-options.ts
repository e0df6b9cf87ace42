import * as oidc from 'openid-client'
import type { ClientSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import { basicCredentials } from './basic-credentials.ts'
import { type ClientIdentity, isShared, type Signer, secretOf, signClaims, signerFor } from './client-signature.ts'

/** Seconds that an assertion is good for: it is made for one request. */
const ASSERTION_S = 60
const BY_SECRET = ['HS256', 'HS384', 'HS512']

/** Where a client authenticates, each with its own method. */
export type AuthenticatedEndpoint = 'token' | 'introspection' | 'revocation'

/** Client metadata that openid-client judges answers by. */
export function clientMetadata({ client, credentials }: ClientIdentity): Partial<oidc.ClientMetadata> {
  const userInfoAlgorithm = client.userinfo_signed_response_alg
  return {
    client_id: client.client_id,
    id_token_signed_response_alg: client.id_token_signed_response_alg,
    require_auth_time: client.require_auth_time,
    use_mtls_endpoint_aliases: credentials.certificate !== null,
    ...(client.default_max_age === undefined ? {} : { default_max_age: client.default_max_age }),
    // The library knows no shared keys: what such a one signed is verified before it gets to see it.
    ...(userInfoAlgorithm === undefined || isShared(userInfoAlgorithm)
      ? {}
      : { userinfo_signed_response_alg: userInfoAlgorithm }),
  }
}

/**
 * How this server authenticates at an endpoint.
 *
 * @param now milliseconds since 1970
 * @throws LoginError `client_keys_missing`
 */
export function clientAuthentication(
  identity: ClientIdentity,
  endpoint: AuthenticatedEndpoint,
  metadata: oidc.ServerMetadata,
  now: () => number,
): oidc.ClientAuth {
  const { client } = identity
  const method = client[`${endpoint}_endpoint_auth_method`]
  switch (method) {
    case 'none':
      return oidc.None()
    case 'client_secret_basic':
      return basic(client.client_id, secretOf(client))
    case 'client_secret_post':
      return oidc.ClientSecretPost(secretOf(client))
    case 'tls_client_auth':
    case 'self_signed_tls_client_auth':
      return oidc.TlsClientAuth()
    case 'client_secret_jwt':
    case 'private_key_jwt': {
      const own = method === 'client_secret_jwt' ? BY_SECRET : identity.credentials.keys.flatMap(({ signs }) => signs)
      const signer = signerFor(identity, assertionAlgorithm(client, endpoint, metadata, own))
      if (!signer)
        throw new LoginError('client_keys_missing', { details: { member: `${endpoint}_endpoint_auth_method` } })
      return assertion(signer, now)
    }
  }
}

function basic(clientId: string, secret: string): oidc.ClientAuth {
  const credentials = basicCredentials(clientId, secret)
  return (_server, _client, _body, headers) => headers.set('authorization', credentials)
}

/**
 * As configured here, or for the token endpoint where the method is the same: a client has one algorithm at nearly every IdP. Else the
 * first of our own that the IdP takes: where it does not say what it takes, the first of all.
 */
function assertionAlgorithm(
  client: ClientSettings,
  endpoint: AuthenticatedEndpoint,
  metadata: oidc.ServerMetadata,
  own: readonly string[],
): string {
  const same = client[`${endpoint}_endpoint_auth_method`] === client.token_endpoint_auth_method
  const configured =
    client[`${endpoint}_endpoint_auth_signing_alg`] ?? (same ? client.token_endpoint_auth_signing_alg : undefined)
  if (configured !== undefined) return configured
  const taken =
    metadata[`${endpoint}_endpoint_auth_signing_alg_values_supported`] ??
    metadata.token_endpoint_auth_signing_alg_values_supported
  return own.find((algorithm) => taken?.includes(algorithm) ?? true) ?? ''
}

/** Source: RFC 7523, section 3, and OpenID Connect Core 1.0, section 9. The audience is the issuer, which all endpoints agree on. */
function assertion(signer: Signer, now: () => number): oidc.ClientAuth {
  return async ({ issuer }, { client_id: id }, body) => {
    const iat = Math.floor(now() / 1000)
    const claims = { iss: id, sub: id, aud: issuer, jti: oidc.randomNonce(), iat, nbf: iat, exp: iat + ASSERTION_S }
    body.set('client_id', id)
    body.set('client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer')
    body.set('client_assertion', await signClaims(signer, claims, 'JWT'))
  }
}
