import * as oidc from 'openid-client'
import { LoginError, type LoginErrorCode } from '../../errors.ts'
import { causes } from '../../log.ts'
import { isClientRefused } from '../authentication/client-refused.ts'
import { NotedAnswer, type RefusedExchange } from '../http/noted-exchange.ts'
import { isAboutPkce, PKCE_REFUSED } from './pkce-refused.ts'

/** Error codes by endpoint. For an endpoint that is not listed, the caller supplies the code. */
const CODES: Readonly<Record<string, LoginErrorCode>> = {
  token_endpoint: 'token_request_failed',
  userinfo_endpoint: 'userinfo_failed',
  introspection_endpoint: 'introspection_failed',
  revocation_endpoint: 'revocation_failed',
  // Anyone may read the IdP's public keys, so an unsuccessful answer means that the IdP is out of service.
  jwks_uri: 'provider_unreachable',
}

/** Translates an unsuccessful answer of an endpoint. Returns undefined if the error has another reason. */
export function refusedAnswer(error: unknown, code: LoginErrorCode): LoginError | undefined {
  const refusal = refusalIn(error)
  if (!refusal) return undefined
  const remedy = remedyFor(refusal)
  const details = { ...refusal, expected: 'status 200 or 201 with JSON' }
  const options = { cause: error, details, ...(remedy === undefined ? {} : { remedy }) }
  return new LoginError(CODES[refusal.endpoint] ?? code, options)
}

function refusalIn(error: unknown): RefusedExchange | undefined {
  for (const cause of causes(error)) {
    const response =
      cause instanceof oidc.ResponseBodyError || cause instanceof oidc.WWWAuthenticateChallengeError
        ? cause.response
        : cause.cause
    if (response instanceof NotedAnswer) return response.refusal
  }
  return undefined
}

/** The endpoints where this server authenticates. */
const AUTHENTICATED = ['token', 'introspection', 'revocation', 'pushed_authorization_request'].map(
  (name) => `${name}_endpoint`,
)

function remedyFor(refusal: RefusedExchange): string | undefined {
  const { endpoint, status, error } = refusal
  const name = endpoint.replaceAll('_', ' ')
  const isAuthenticated = AUTHENTICATED.includes(endpoint)
  if (isAuthenticated && isClientRefused(status, error))
    return `${CLIENT_REFUSED} \`client.${methodMember(endpoint)}\` match the client's settings at the IdP. ${KEYCLOAK}`
  if (isAuthenticated && isAboutPkce(refusal)) return PKCE_REFUSED
  if (endpoint === 'userinfo_endpoint' && (status === 401 || status === 403)) return USERINFO_REFUSED
  const remedy = error === undefined ? undefined : REMEDIES[error]
  if (remedy !== undefined) return remedy
  if (error !== undefined) return undefined
  if (status >= 300 && status < 400) {
    return `The ${name} answers with a redirect: a login page or a proxy intercepts the request, or \`issuer.${endpoint}\` is wrong. The endpoint at \`address\` must answer this server directly.`
  }
  if (status === 403) {
    const refusal = `The ${name} answers 403. Look for a firewall, a proxy or a rule of the IdP that refuses the address of this server.`
    if (!isAuthenticated) return refusal
    return `${refusal} Or the IdP does not accept the client; then check its secret or keys, and \`client.${methodMember(endpoint)}\`.`
  }
  if (status === 404 || status === 405 || status === 410) {
    return `There is no ${name} at \`address\`: correct \`issuer.${endpoint}\`, or remove it so that the address that the IdP publishes applies.`
  }
  if (status === 429)
    return `The ${name} refuses further requests, because it received too many. Raise the IdP's limit for the address of this server.`
  if (status >= 500) {
    return `The ${name} reports an internal error. Look for the request in the logs of the IdP and of the proxy in front of it.`
  }
  return `The ${name} did not answer as the protocol requires. Check what answers at \`address\`; it may be a page of a proxy.`
}

const CLIENT_REFUSED =
  "The IdP does not accept this server as its client. Check that `client.client_id`, `client.client_secret` (or the secret's file, or the keys) and"
const KEYCLOAK = 'Keycloak and Glewlwyd answer a wrong secret with `unauthorized_client`.'
const USERINFO_REFUSED =
  'The UserInfo endpoint rejects the access token of this login. Check that `custom.scope` contains `openid`, and what else the IdP requires for UserInfo.'

const REMEDIES: Readonly<Record<string, string>> = {
  invalid_grant:
    'The IdP did not redeem the authorization code. Check that exactly `client.redirect_uri` is registered there, that the code arrived at once (it expires after a minute or less), and both clocks.',
  unauthorized_client:
    'The IdP does not allow the client this request. Allow `client.client_id` the authorization code flow there (in Keycloak: Standard flow).',
  unsupported_grant_type: 'Allow the client the grant type authorization_code at the IdP.',
  invalid_scope:
    'The IdP does not know a scope, or does not grant it to this client. See `groups.scope` and `custom.scope`.',
}

function methodMember(endpoint: string): string {
  return endpoint === 'pushed_authorization_request_endpoint' ? 'token_endpoint_auth_method' : `${endpoint}_auth_method`
}
