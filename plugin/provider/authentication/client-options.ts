import * as oidc from 'openid-client'
import type { ClientSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import type { Fetch } from '../http/limited-fetch.ts'
import type { AssertionAudiences } from './assertion-audience.ts'
import { announceAssertion, isAsserting, withAssertions } from './client-assertion.ts'
import type { ClientSecret } from './client-secret.ts'
import { type ClientIdentity, isShared, ownAlgorithms, secretOf, signerFor } from './client-signature.ts'

import { type ShowSecret, withCurrentSecretShown } from './current-secret.ts'

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

export interface AuthenticationDeps {
  /** Limited. */
  readonly fetch: Fetch
  readonly audiences: AssertionAudiences
  /** Null: the secret stands in the configuration. */
  readonly secret: ClientSecret | null
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** A way to authenticate, in two halves that belong together. */
export interface Authentication {
  readonly auth: oidc.ClientAuth
  readonly fetch: Fetch
}

/**
 * How this server authenticates at an endpoint.
 *
 * @throws LoginError `client_keys_missing`
 */
export function clientAuthentication(
  identity: ClientIdentity,
  endpoint: AuthenticatedEndpoint,
  metadata: oidc.ServerMetadata,
  { fetch, audiences, secret, now }: AuthenticationDeps,
): Authentication {
  const { client } = identity
  const method = client[`${endpoint}_endpoint_auth_method`]
  switch (method) {
    case 'none':
      return { auth: oidc.None(), fetch }
    case 'client_secret_basic':
      return {
        auth: basic(client.client_id, secretOf(client)),
        fetch: secret ? withCurrentSecretShown(fetch, secret, showBasic(client.client_id)) : fetch,
      }
    case 'client_secret_post':
      return {
        auth: oidc.ClientSecretPost(secretOf(client)),
        fetch: secret ? withCurrentSecretShown(fetch, secret, showPosted) : fetch,
      }
    case 'tls_client_auth':
    case 'self_signed_tls_client_auth':
      return { auth: oidc.TlsClientAuth(), fetch }
    case 'client_secret_jwt':
    case 'private_key_jwt': {
      const own = method === 'client_secret_jwt' ? BY_SECRET : ownAlgorithms(identity)
      const algorithm = assertionAlgorithm(client, endpoint, metadata, own)
      const signer = () => {
        const found = signerFor(identity, algorithm)
        if (found) return found
        throw new LoginError('client_keys_missing', { details: { member: `${endpoint}_endpoint_auth_method` } })
      }
      const kept = signer()
      const isReloaded = method === 'client_secret_jwt' && secret !== null
      const parts = {
        clientId: client.client_id,
        issuer: metadata.issuer,
        signer: isReloaded ? signer : () => kept,
        audiences,
        now,
      }
      const asserting = withAssertions(fetch, parts)
      // Each assertion is signed anew, by the secret of the moment.
      const reloading = isReloaded
        ? withCurrentSecretShown(asserting, secret, (request) => (isAsserting(request) ? request : undefined))
        : asserting
      return { auth: announceAssertion(), fetch: reloading }
    }
  }
}

function showBasic(clientId: string): ShowSecret {
  return (request, secret) =>
    request.headers.authorization?.startsWith('Basic ')
      ? { ...request, headers: { ...request.headers, authorization: basicCredentials(clientId, secret) } }
      : undefined
}

const showPosted: ShowSecret = (request, secret) => {
  if (!(request.body instanceof URLSearchParams) || !request.body.has('client_secret')) return undefined
  const body = new URLSearchParams(request.body)
  body.set('client_secret', secret)
  return { ...request, body }
}

function basic(clientId: string, secret: string): oidc.ClientAuth {
  const credentials = basicCredentials(clientId, secret)
  return (_server, _client, body, headers) => {
    headers.set('authorization', credentials)
    // Beside a request object stands nothing that authentication does not need. Source: RFC 9126, section 3.
    if (body.has('request')) body.delete('client_id')
  }
}

/**
 * As configured here, or for the token endpoint where the method is the same: a client has one algorithm at nearly
 * every IdP. Else the first of our own that the IdP takes: where it does not say what it takes, the first of all.
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

const UNRESERVED = /[A-Za-z0-9\-._~]/

/**
 * Value of the `Authorization` header by which a client shows its secret: RFC 6749, section 2.3.1, with each of the two
 * form-encoded. What no URL needs to encode stays as it is, since LemonLDAP::NG, Glewlwyd and authentik compare without
 * decoding, and every UUID has a `-`; a blank is `%20`, since Canaille decodes percent signs only. Who decodes by the
 * book reads the same.
 */
export function basicCredentials(clientId: string, secret: string): string {
  return `Basic ${Buffer.from(`${encoded(clientId)}:${encoded(secret)}`).toString('base64')}`
}

function encoded(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) => {
      const character = String.fromCharCode(byte)
      return UNRESERVED.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    })
    .join('')
}
