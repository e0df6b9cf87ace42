import * as oidc from 'openid-client'
import type { DomainSettings } from '../config/settings.ts'
import { withoutAccessToken } from './answers/no-access-token.ts'
import type { AssertionAudiences } from './authentication/assertion-audience.ts'
import { type AuthenticatedEndpoint, clientAuthentication, clientMetadata } from './authentication/client-options.ts'
import type { ClientSecret } from './authentication/client-secret.ts'
import { endpointAddress, endpointName } from './http/endpoints.ts'
import type { Fetch } from './http/limited-fetch.ts'
import { noteExchanges } from './http/noted-exchange.ts'
import type { KeySet } from './issuer/key-set.ts'
import { withServedKeys } from './issuer/served-keys.ts'
import { openAnswers } from './protection/protected-answers.ts'

export interface ConfigurationDeps {
  /** A `fetch` with time and size limits. */
  readonly fetch: Fetch
  readonly keySet: KeySet
  readonly audiences: AssertionAudiences
  /** The client secret, if it is read from a file. Null if the configuration contains the secret itself. */
  readonly secret: ClientSecret | null
  /** Returns the current time in milliseconds since 1970. */
  readonly now: () => number
}

/**
 * Builds openid-client's configurations for one domain: the IdP's metadata, this server's authentication method, and a
 * `fetch` that adapts requests and answers to the library. New metadata replaces the shared configuration.
 */
export class ClientConfigurations {
  readonly #settings: DomainSettings
  readonly #deps: ConfigurationDeps
  #shared: { readonly metadata: oidc.ServerMetadata; readonly config: oidc.Configuration } | undefined

  constructor(settings: DomainSettings, deps: ConfigurationDeps) {
    this.#settings = settings
    this.#deps = deps
  }

  /**
   * Returns the shared openid-client configuration. Use {@link create} instead if openid-client must verify a signature
   * in the answer.
   */
  shared(metadata: oidc.ServerMetadata): oidc.Configuration {
    if (this.#shared?.metadata !== metadata) this.#shared = { metadata, config: this.create(metadata) }
    return this.#shared.config
  }

  /**
   * Builds a new openid-client configuration.
   *
   * @param endpoint the endpoint where this client authenticates
   * @param token the token that the library is about to verify, if there is one
   */
  create(metadata: oidc.ServerMetadata, endpoint: AuthenticatedEndpoint = 'token', token?: string): oidc.Configuration {
    const settings = this.#settings
    const { client, credentials } = settings
    const { fetch, keySet, audiences, secret, now } = this.#deps
    const endpoints = {
      token: endpointAddress(metadata, credentials, 'token_endpoint'),
      userinfo: endpointAddress(metadata, credentials, 'userinfo_endpoint'),
    }
    const noted = noteExchanges(fetch, (address) => endpointName(metadata, address))
    const deps = { fetch: noted, audiences, secret, now }
    const authentication = clientAuthentication(settings, endpoint, metadata, deps)
    const config = new oidc.Configuration(metadata, client.client_id, clientMetadata(settings), authentication.auth)
    const opened = openAnswers(authentication.fetch, endpoints, settings)
    const complete = endpoints.userinfo === undefined ? withoutAccessToken(opened, endpoints.token) : opened
    const exact = withExactRedirect(complete, client.redirect_uri)
    config[oidc.customFetch] = withServedKeys(exact, keySet, metadata.jwks_uri, token)
    // The wrapped `fetch` enforces time limits and TLS, so the library's own checks are switched off.
    config.timeout = 0
    oidc.allowInsecureRequests(config)
    const [responseType] = client.response_types
    if (responseType === 'id_token') oidc.useIdTokenResponseType(config)
    if (responseType === 'code id_token') oidc.useCodeIdTokenResponseType(config)
    return config
  }
}

/**
 * Sends the redirect address in token requests exactly as in the authorization request (RFC 6749, section 4.1.3).
 * openid-client normalizes it, but many IdPs compare characters.
 */
function withExactRedirect(fetch: Fetch, redirectUri: string): Fetch {
  return (url, init) => {
    if (!(init.body instanceof URLSearchParams)) return fetch(url, init)
    const derived = init.body.get('redirect_uri')
    if (derived === null || derived === redirectUri) return fetch(url, init)
    const body = new URLSearchParams(init.body)
    body.set('redirect_uri', redirectUri)
    return fetch(url, { ...init, body })
  }
}
