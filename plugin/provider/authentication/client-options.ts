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

/** Endpoints where a client authenticates, each with its own method. */
export type AuthenticatedEndpoint = 'token' | 'introspection' | 'revocation'

/** The client metadata that openid-client verifies answers with. */
export function clientMetadata({ client, credentials }: ClientIdentity): Partial<oidc.ClientMetadata> {
  const userInfoAlgorithm = client.userinfo_signed_response_alg
  return {
    client_id: client.client_id,
    id_token_signed_response_alg: client.id_token_signed_response_alg,
    require_auth_time: client.require_auth_time,
    use_mtls_endpoint_aliases: credentials.certificate !== null,
    ...(client.default_max_age === undefined ? {} : { default_max_age: client.default_max_age }),
    // The library does not support shared keys. Answers signed with one are verified before the library sees them.
    ...(userInfoAlgorithm === undefined || isShared(userInfoAlgorithm)
      ? {}
      : { userinfo_signed_response_alg: userInfoAlgorithm }),
  }
}

export interface AuthenticationDeps {
  /** Limited. */
  readonly fetch: Fetch
  readonly audiences: AssertionAudiences
  /** Null: the configuration contains the secret itself. */
  readonly secret: ClientSecret | null
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** An authentication method in two parts that belong together. */
export interface Authentication {
  readonly auth: oidc.ClientAuth
  readonly fetch: Fetch
}

/**
 * Returns how this server authenticates at an endpoint.
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
        throw new LoginError('client_keys_missing', { details: { member: `${endpoint}_endpoint_auth_method` } })
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
      // Each attempt signs a new assertion with the current secret.
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
    // A request object may be accompanied only by parameters that authentication needs. Source: RFC 9126, section 3.
    if (body.has('request')) body.delete('client_id')
  }
}

/**
 * Chooses the algorithm of an assertion. A configured algorithm wins. An endpoint with the same authentication method
 * as the token endpoint shares the algorithm configured there, because nearly every IdP knows one algorithm per client.
 * Otherwise the first available algorithm that the IdP accepts is used, or the first of all if the IdP publishes no
 * list.
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
 * Value of the `Authorization` header for HTTP Basic authentication. RFC 6749, section 2.3.1, form-encodes both parts.
 * Unreserved characters stay as they are, because LemonLDAP::NG, Glewlwyd and authentik compare without decoding, and
 * every UUID contains a `-`. A blank becomes `%20`, because Canaille decodes percent signs only. An IdP that decodes as
 * specified reads the same.
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
