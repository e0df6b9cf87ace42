import { hash } from 'node:crypto'
import * as oidc from 'openid-client'
import type { ClientSettings, CustomSettings, DomainSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import type { Transaction } from '../../login/transaction/transaction.ts'
import type { DpopKey } from '../authentication/dpop.ts'
import { explainScopes } from '../faults/scope-refusal.ts'
import type { Fetch } from '../http/limited-fetch.ts'
import { requestObject } from '../protection/request-object.ts'
import { isPushed, pushRequest } from './pushed-request.ts'
import { responseModeOf } from './response-mode.ts'

export interface AuthorizationDeps {
  /** A `fetch` with time and size limits. */
  readonly fetch: Fetch
  /** The scopes that each login requests, including `openid`. */
  readonly scopes: readonly string[]
  readonly now: () => number
}

/** The current metadata of an IdP, and the library's configuration made from it. */
export interface Configured {
  readonly metadata: oidc.ServerMetadata
  readonly config: oidc.Configuration
  /** The key that access tokens are bound to (DPoP). Null if they are not bound to a key. */
  readonly dpop: DpopKey | null
}

/** Parts of an authorization request that differ from login to login. */
export interface RequestHints {
  readonly parameters?: Readonly<Record<string, string>>
  /** Makes the IdP ask the user for an account, even if the user is already signed in there. */
  readonly anotherAccount?: boolean
}

/**
 * Builds the IdP's address to which a login redirects the browser.
 *
 * @param hints parameters of this request only
 * @throws LoginError
 */
export async function authorizationUrl(
  transaction: Transaction,
  { parameters: extra = {}, anotherAccount = false }: RequestHints,
  { metadata, config, dpop }: Configured,
  settings: DomainSettings,
  deps: AuthorizationDeps,
): Promise<URL> {
  if (!metadata.authorization_endpoint) {
    throw new LoginError('metadata_incomplete', { details: { endpoint: 'authorization_endpoint' } })
  }
  const parameters = {
    ...settings.custom.authorizationParams,
    ...extra,
    ...(anotherAccount ? { prompt: promptForAnother(metadata) } : {}),
    ...requestedParameters(transaction, metadata, settings, deps),
  }
  const request = await requestObject(parameters, metadata, settings, deps)
  if (isPushed(settings.client, metadata)) {
    return pushRequest(config, request === undefined ? parameters : { request }, dpop).catch((error: unknown) => {
      throw error instanceof LoginError ? explainScopes(error, deps.scopes) : error
    })
  }
  const { response_type, scope } = parameters
  // OpenID Connect Core 1.0, section 6.1, requires `response_type` and `scope` outside the request object too. The IdP
  // uses the values in the object.
  return oidc.buildAuthorizationUrl(config, request === undefined ? parameters : { request, response_type, scope })
}

type RequestedParameters = Readonly<Record<string, string>> & { readonly response_type: string; readonly scope: string }

function requestedParameters(
  { state, nonce, codeVerifier }: Transaction,
  metadata: oidc.ServerMetadata,
  settings: DomainSettings,
  { scopes }: AuthorizationDeps,
): RequestedParameters {
  const { client } = settings
  const mode = responseModeOf(client, metadata)
  const contexts = requestedContexts(settings.custom)
  return {
    redirect_uri: client.redirect_uri,
    scope: scopes.join(' '),
    response_type: client.response_types[0],
    state,
    nonce,
    // Always send S256, even if the IdP publishes only `plain`. An IdP that does not support S256 answers with an
    // error.
    code_challenge: codeChallenge(codeVerifier),
    code_challenge_method: 'S256',
    ...(mode === undefined ? {} : { response_mode: mode }),
    ...requestedAge(client),
    ...(contexts.length > 0 ? { acr_values: contexts.join(' ') } : {}),
    ...requestedClaims(client, contexts, metadata),
  }
}

/**
 * Hashes the code verifier (RFC 7636, section 4.2). Does not use WebCrypto, which would use another thread for a few
 * bytes.
 */
function codeChallenge(codeVerifier: string): string {
  return hash('sha256', codeVerifier, 'base64url')
}

/**
 * Returns the `prompt` that lets the user choose another account. Source: OpenID Connect Core 1.0, section 3.1.2.1;
 * `prompt_values_supported` of Initiating User Registration via OpenID Connect.
 */
function promptForAnother({ prompt_values_supported: published }: oidc.ServerMetadata): string {
  return Array.isArray(published) && published.includes('select_account') ? 'select_account' : 'login'
}

/** Limits the age of the authentication. The parameter also makes the IdP send `auth_time`. */
function requestedAge({ default_max_age: age }: ClientSettings): Readonly<Record<string, string>> {
  return age === undefined ? {} : { max_age: String(age) }
}

/** Returns the `acr` values to request: all accepted ones, even if unpublished. None if `acr_values` is configured. */
function requestedContexts({ requiredAcr, authorizationParams }: CustomSettings): readonly string[] {
  return authorizationParams.acr_values === undefined ? requiredAcr : []
}

/**
 * Returns a `claims` parameter with essential claims, if the IdP supports it. Unlike `acr_values`, they are binding.
 * Source: OpenID Connect Core 1.0, sections 5.5.1 and 5.5.1.1.
 */
function requestedClaims(
  client: ClientSettings,
  contexts: readonly string[],
  { claims_parameter_supported: isSupported }: oidc.ServerMetadata,
): Readonly<Record<string, string>> {
  const wanted = {
    ...(client.require_auth_time && client.default_max_age === undefined ? { auth_time: { essential: true } } : {}),
    ...(contexts.length > 0 ? { acr: { essential: true, values: contexts } } : {}),
  }
  if (isSupported !== true || Object.keys(wanted).length === 0) return {}
  return { claims: JSON.stringify({ id_token: wanted }) }
}
