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
  /** Limited. */
  readonly fetch: Fetch
  /** Asked for at each login; `openid` is among them. */
  readonly scopes: readonly string[]
  readonly now: () => number
}

/** An IdP as it is known now, and this server as its client. */
export interface Configured {
  readonly metadata: oidc.ServerMetadata
  readonly config: oidc.Configuration
  /** Null: access tokens are bound to no key. */
  readonly dpop: DpopKey | null
}

/** What one login asks for that others do not. */
export interface RequestHints {
  readonly parameters?: Readonly<Record<string, string>>
  /** The IdP is to ask which account, even where it knows one. */
  readonly anotherAccount?: boolean
}

/**
 * Where a login sends the browser.
 *
 * @param hints of this one request, beside what the configuration says
 * @throws LoginError
 */
export async function authorizationUrl(
  transaction: Transaction,
  { parameters: own = {}, anotherAccount = false }: RequestHints,
  { metadata, config, dpop }: Configured,
  settings: DomainSettings,
  deps: AuthorizationDeps,
): Promise<URL> {
  if (!metadata.authorization_endpoint) {
    throw new LoginError('metadata_incomplete', { details: { endpoint: 'authorization_endpoint' } })
  }
  const asked = {
    ...settings.custom.authorizationParams,
    ...own,
    ...(anotherAccount ? { prompt: promptForAnother(metadata) } : {}),
    ...askedParameters(transaction, metadata, settings, deps),
  }
  const request = await requestObject(asked, metadata, settings, deps)
  if (isPushed(settings.client, metadata)) {
    return pushRequest(config, request === undefined ? asked : { request }, dpop).catch((error: unknown) => {
      throw error instanceof LoginError ? explainScopes(error, deps.scopes) : error
    })
  }
  const { response_type, scope } = asked
  // OpenID Connect Core 1.0, section 6.1, wants these two beside the object, in which they count.
  return oidc.buildAuthorizationUrl(config, request === undefined ? asked : { request, response_type, scope })
}

type AskedParameters = Readonly<Record<string, string>> & { readonly response_type: string; readonly scope: string }

function askedParameters(
  { state, nonce, codeVerifier }: Transaction,
  metadata: oidc.ServerMetadata,
  settings: DomainSettings,
  { scopes }: AuthorizationDeps,
): AskedParameters {
  const { client } = settings
  const mode = responseModeOf(client, metadata)
  const contexts = demandedContexts(settings.custom)
  return {
    redirect_uri: client.redirect_uri,
    scope: scopes.join(' '),
    response_type: client.response_types[0],
    state,
    nonce,
    // S256 even where the IdP advertises only `plain`: a server that cannot do it says so.
    code_challenge: codeChallenge(codeVerifier),
    code_challenge_method: 'S256',
    ...(mode === undefined ? {} : { response_mode: mode }),
    ...demandedTime(client),
    ...(contexts.length > 0 ? { acr_values: contexts.join(' ') } : {}),
    ...demandedClaims(client, contexts, metadata),
  }
}

/** Source: RFC 7636, section 4.2. Not by WebCrypto, which takes a trip to another thread for these few bytes. */
function codeChallenge(codeVerifier: string): string {
  return hash('sha256', codeVerifier, 'base64url')
}

/**
 * Source: OpenID Connect Core 1.0, section 3.1.2.1; `prompt_values_supported` of Initiating User Registration via
 * OpenID Connect.
 */
function promptForAnother({ prompt_values_supported: published }: oidc.ServerMetadata): string {
  return Array.isArray(published) && published.includes('select_account') ? 'select_account' : 'login'
}

/** A greatest age implies that the IdP tells when the person last signed in there. */
function demandedTime({ default_max_age: age }: ClientSettings): Readonly<Record<string, string>> {
  return age === undefined ? {} : { max_age: String(age) }
}

/**
 * What `acr` a login asks for: all that it may have, whatever list the IdP publishes, unless the administrator asks for
 * some himself.
 */
function demandedContexts({ requiredAcr, authorizationParams }: CustomSettings): readonly string[] {
  return authorizationParams.acr_values === undefined ? requiredAcr : []
}

/**
 * What the ID token has to say, where the IdP can be asked for single claims: an essential one it has to meet, or to
 * fail, where `acr_values` is a wish only. Source: OpenID Connect Core 1.0, sections 5.5.1 and 5.5.1.1.
 */
function demandedClaims(
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
