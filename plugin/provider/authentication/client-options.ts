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

/** The endpoints where a client authenticates. Each has its own configured method. */
export type AuthenticatedEndpoint = 'token' | 'introspection' | 'revocation'

/** Returns the client metadata that openid-client needs to verify answers. */
export function clientMetadata({ client, credentials }: ClientIdentity): Partial<oidc.ClientMetadata> {
  const userInfoAlgorithm = client.userinfo_signed_response_alg
  return {
    client_id: client.client_id,
    id_token_signed_response_alg: client.id_token_signed_response_alg,
    require_auth_time: client.require_auth_time,
    use_mtls_endpoint_aliases: credentials.certificate !== null,
    ...(client.default_max_age === undefined ? {} : { default_max_age: client.default_max_age }),
    // Omit algorithms with the client secret, which the library lacks. The plugin verifies such UserInfo answers first.
    ...(userInfoAlgorithm === undefined || isShared(userInfoAlgorithm)
      ? {}
      : { userinfo_signed_response_alg: userInfoAlgorithm }),
  }
}

export interface AuthenticationDeps {
  /** A `fetch` with time and size limits. */
  readonly fetch: Fetch
  readonly audiences: AssertionAudiences
  /** The client secret, if it is read from a file. Null if the configuration contains the secret itself. */
  readonly secret: ClientSecret | null
  /** Returns the current time in milliseconds since 1970. */
  readonly now: () => number
}

/**
 * What a request needs to authenticate this client: a function that adds credentials to the request, and a `fetch` that
 * sends it.
 */
export interface Authentication {
  readonly auth: oidc.ClientAuth
  readonly fetch: Fetch
}

/**
 * Returns the authentication method that is configured for an endpoint.
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
      const algorithms = method === 'client_secret_jwt' ? BY_SECRET : ownAlgorithms(identity)
      const algorithm = assertionAlgorithm(client, endpoint, metadata, algorithms)
      const signer = () => {
        const matching = signerFor(identity, algorithm)
        if (matching) return matching
        throw new LoginError('client_keys_missing', { details: { member: `client.${endpoint}_endpoint_auth_method` } })
      }
      const initial = signer()
      const isReloaded = method === 'client_secret_jwt' && secret !== null
      const parts = {
        clientId: client.client_id,
        issuer: metadata.issuer,
        signer: isReloaded ? signer : () => initial,
        audiences,
        now,
      }
      const asserting = withAssertions(fetch, parts)
      // A retry after a reload signs a new assertion with the new secret.
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
    // With a request object, a pushed request may contain only parameters for authentication. Source: RFC 9126, section
    // 3.
    if (body.has('request')) body.delete('client_id')
  }
}

/**
 * Chooses the algorithm of a client assertion, by the first rule that applies:
 * - The configured algorithm of the endpoint.
 * - That of the token endpoint, if both use the same method. Nearly every IdP stores one algorithm for each client.
 * - The first available algorithm that the IdP accepts. If the IdP publishes no list, the first of all.
 */
function assertionAlgorithm(
  client: ClientSettings,
  endpoint: AuthenticatedEndpoint,
  metadata: oidc.ServerMetadata,
  available: readonly string[],
): string {
  const hasSameMethod = client[`${endpoint}_endpoint_auth_method`] === client.token_endpoint_auth_method
  const configured =
    client[`${endpoint}_endpoint_auth_signing_alg`] ??
    (hasSameMethod ? client.token_endpoint_auth_signing_alg : undefined)
  if (configured !== undefined) return configured
  const accepted =
    metadata[`${endpoint}_endpoint_auth_signing_alg_values_supported`] ??
    metadata.token_endpoint_auth_signing_alg_values_supported
  return available.find((algorithm) => accepted?.includes(algorithm) ?? true) ?? ''
}

const UNRESERVED = /[A-Za-z0-9\-._~]/

/**
 * Returns the `Authorization` header for HTTP Basic, form-encoded (RFC 6749, section 2.3.1). LemonLDAP::NG, Glewlwyd
 * and authentik do not decode, so unreserved characters such as `-` stay. Canaille does not decode `+`, so a space
 * becomes `%20`.
 */
export function basicCredentials(clientId: string, secret: string): string {
  return `Basic ${Buffer.from(`${formEncode(clientId)}:${formEncode(secret)}`).toString('base64')}`
}

function formEncode(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) => {
      const character = String.fromCharCode(byte)
      return UNRESERVED.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    })
    .join('')
}
