import * as oidc from 'openid-client'
import { LoginError, type LoginErrorCode } from '../../errors.ts'
import { causes } from '../../log.ts'
import { isClientRefused } from '../authentication/client-refused.ts'
import { NotedAnswer, type RefusedExchange } from '../http/noted-exchange.ts'
import { PKCE_REFUSED, speaksOfPkce } from './pkce-refused.ts'

/** What a request that was refused is called; other endpoints have the name that the caller gives it. */
const CODES: Readonly<Record<string, LoginErrorCode>> = {
  token_endpoint: 'token_request_failed',
  userinfo_endpoint: 'userinfo_failed',
  introspection_endpoint: 'introspection_failed',
  revocation_endpoint: 'revocation_failed',
  // Nobody is refused keys: they are published.
  jwks_uri: 'provider_unreachable',
}

/** An endpoint answered, but with no success. Undefined: it is something else. */
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

/** Where this server proves who it is. */
const AUTHENTICATED = ['token', 'introspection', 'revocation', 'pushed_authorization_request'].map(
  (name) => `${name}_endpoint`,
)

function remedyFor(refusal: RefusedExchange): string | undefined {
  const { endpoint, status, error } = refusal
  const where = endpoint.replaceAll('_', ' ')
  const isAuthenticated = AUTHENTICATED.includes(endpoint)
  if (isAuthenticated && isClientRefused(status, error))
    return `${UNKNOWN_CLIENT} \`client.${methodMember(endpoint)}\`, as the IdP has them. ${KEYCLOAK}`
  if (isAuthenticated && speaksOfPkce(refusal)) return PKCE_REFUSED
  if (endpoint === 'userinfo_endpoint' && (status === 401 || status === 403)) return USERINFO_REFUSED
  const byWord = error === undefined ? undefined : BY_WORD[error]
  if (byWord !== undefined) return byWord
  if (error !== undefined) return undefined
  if (status >= 300 && status < 400) {
    return `The ${where} answers with a redirect: a login page or a proxy stands before it, or \`issuer.${endpoint}\` is wrong. It has to answer this server itself, at \`address\`.`
  }
  if (status === 403) {
    const refusal = `The ${where} is forbidden to this server: look for a firewall, a proxy or a rule of the IdP that refuses its address.`
    if (!isAuthenticated) return refusal
    return `${refusal} Or the IdP does not accept the client: check its secret or keys, and \`client.${methodMember(endpoint)}\`.`
  }
  if (status === 404 || status === 405 || status === 410) {
    return `There is no ${where} at \`address\`: correct \`issuer.${endpoint}\`, or remove it, so that what the IdP publishes counts.`
  }
  if (status === 429)
    return `The ${where} was asked too often for the IdP's taste. Raise its limit for the address of this server.`
  if (status >= 500) {
    return `The ${where} failed in itself: look for the request in the log of the IdP, and of the proxy before it.`
  }
  return `The ${where} gave no answer of the protocol: a page of a proxy, perhaps. Check what answers at \`address\`.`
}

const UNKNOWN_CLIENT =
  'The IdP does not accept this server as its client. Check `client.client_id`, `client.client_secret` or its file (or its keys) and'
const KEYCLOAK = 'A wrong secret is `unauthorized_client` at Keycloak and Glewlwyd.'
const USERINFO_REFUSED =
  'The UserInfo endpoint does not take the access token of this login. Check that `openid` is in `custom.scope`, and what the IdP demands for UserInfo.'

const BY_WORD: Readonly<Record<string, string>> = {
  invalid_grant:
    'The IdP did not redeem the authorization code. Check that `client.redirect_uri` is registered to the letter, that the code came at once (it lives for a minute or less), and both clocks.',
  unauthorized_client:
    'The client may not do this at the IdP: allow it the authorization code flow (in Keycloak: Standard flow) for `client.client_id`.',
  unsupported_grant_type: 'Allow the client the grant type authorization_code at the IdP.',
  invalid_scope:
    'The IdP does not know a scope, or does not grant it to this client. See `groups.scope` and `custom.scope`.',
}

function methodMember(endpoint: string): string {
  return endpoint === 'pushed_authorization_request_endpoint' ? 'token_endpoint_auth_method' : `${endpoint}_auth_method`
}
