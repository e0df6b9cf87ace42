import * as oidc from 'openid-client'
import type { Clock } from '../clock.ts'
import type { DomainSettings } from '../config/settings.ts'
import type { Transaction } from '../login/transaction/transaction.ts'
import { withoutAccessToken } from './answers/no-access-token.ts'
import { createRedeem, type Redeem } from './answers/redeem.ts'
import { type OpenedAnswer, openAnswer } from './answers/signed-answer.ts'
import { createAssertionAudiences } from './authentication/assertion-audience.ts'
import { type AuthenticatedEndpoint, clientAuthentication, clientMetadata } from './authentication/client-options.ts'
import type { ClientSecret } from './authentication/client-secret.ts'
import { isShared } from './authentication/client-signature.ts'
import { createDpopKey } from './authentication/dpop.ts'
import {
  type AuthorizationDeps,
  authorizationUrl,
  type Configured,
  type RequestHints,
} from './authorization/request.ts'
import { endpointAddress, endpointName } from './http/endpoints.ts'
import type { Fetch } from './http/limited-fetch.ts'
import { noteExchanges } from './http/noted-exchange.ts'
import type { Issuer } from './issuer/discovery.ts'
import type { KeySet } from './issuer/key-set.ts'
import { withServedKeys } from './issuer/served-keys.ts'
import { idpSignatures } from './protection/id-token-signature.ts'
import { openAnswers } from './protection/protected-answers.ts'
import { createCodeTrial, type OfferMadeUpCode } from './tokens/made-up-code.ts'
import { createRenewal, type Renew } from './tokens/renewal.ts'
import { type TokenVerbs, tokenVerbs } from './tokens/token-status.ts'

/** One domain's client at its identity provider. Every method throws LoginError only. */
export interface ProviderClient extends TokenVerbs {
  /** @param hints of this one request, beside what the configuration says */
  authorizationUrl(transaction: Transaction, hints?: RequestHints): Promise<URL>
  /** What the IdP calls itself. */
  issuerName(): Promise<string>
  /** Opens the parameters that came back with the browser, for {@link redeem}. */
  openAnswer(parameters: URLSearchParams): Promise<OpenedAnswer>
  readonly redeem: Redeem
  readonly renew: Renew
  readonly offerMadeUpCode: OfferMadeUpCode
  close(): void
}

export interface ClientDeps extends AuthorizationDeps {
  readonly clock: Clock
  readonly issuer: Issuer
  readonly keySet: KeySet
  /** Null: the secret stands in the configuration. Otherwise the settings have its current one. */
  readonly secret: ClientSecret | null
  /** Claims that a login reads: where the ID token brings them all, the UserInfo request is saved. */
  readonly claims: readonly string[]
  /** Told once of each address that takes client assertions of another audience than was tried first. */
  readonly onAudience: (address: string, audience: 'issuer' | 'address') => void
}

export function createProviderClient(settings: DomainSettings, deps: ClientDeps): ProviderClient {
  const { client, credentials } = settings
  const { issuer, fetch, now } = deps
  const [responseType] = client.response_types
  const dpop = client.dpop_bound_access_tokens ? createDpopKey() : null
  const signatures = idpSignatures(settings, deps.keySet, deps.secret)
  const audiences = createAssertionAudiences(client.assertion_audience, deps.onAudience)

  /** @param token whose signature the library is about to verify, if any */
  function configure(
    metadata: oidc.ServerMetadata,
    endpoint: AuthenticatedEndpoint = 'token',
    token?: string,
  ): oidc.Configuration {
    const endpoints = {
      token: endpointAddress(metadata, credentials, 'token_endpoint'),
      userinfo: endpointAddress(metadata, credentials, 'userinfo_endpoint'),
    }
    const noted = noteExchanges(fetch, (address) => endpointName(metadata, address))
    const authentication = clientAuthentication(settings, endpoint, metadata, {
      fetch: noted,
      audiences,
      secret: deps.secret,
      now,
    })
    const config = new oidc.Configuration(metadata, client.client_id, clientMetadata(settings), authentication.auth)
    const opened = openAnswers(authentication.fetch, endpoints, settings)
    const complete = endpoints.userinfo === undefined ? withoutAccessToken(opened, endpoints.token) : opened
    const answers = withExactRedirect(complete, client.redirect_uri)
    config[oidc.customFetch] = withServedKeys(answers, deps.keySet, metadata.jwks_uri, token)
    // The limited fetch has the last word on time and on plain HTTP.
    config.timeout = 0
    oidc.allowInsecureRequests(config)
    if (responseType === 'id_token') oidc.useIdTokenResponseType(config)
    if (responseType === 'code id_token') oidc.useCodeIdTokenResponseType(config)
    return config
  }

  let kept: Configured | undefined
  /** For what looks at no signature; made anew when discovery has found something new. */
  function keptConfiguration(metadata: oidc.ServerMetadata): Configured {
    if (kept?.metadata !== metadata) kept = { metadata, config: configure(metadata), dpop }
    return kept
  }

  return {
    authorizationUrl: async (transaction, hints = {}) => {
      // An IdP may show its refusal of such a request to the browser alone.
      if (isShared(client.request_object_signing_alg)) deps.secret?.reload()
      return authorizationUrl(transaction, hints, keptConfiguration(await issuer.metadata()), settings, deps)
    },

    issuerName: async () => (await issuer.metadata()).issuer,
    openAnswer: (parameters) => openAnswer(parameters, settings),
    redeem: createRedeem(settings, {
      ...deps,
      dpop,
      signatures,
      configure: (metadata, token) => configure(metadata, 'token', token),
      configured: (metadata) => keptConfiguration(metadata).config,
    }),

    renew: createRenewal({
      clientId: client.client_id,
      clock: deps.clock,
      dpop,
      configured: async () => configure(await issuer.metadata()),
      signatures,
    }),

    offerMadeUpCode: createCodeTrial(client, { dpop, configured: async () => configure(await issuer.metadata()) }),

    ...tokenVerbs(settings, async (endpoint) => configure(await issuer.metadata(), endpoint)),

    close() {
      deps.keySet.close()
      issuer.close()
    },
  }
}

/**
 * Token requests that name the redirect address exactly as the authorization request did. openid-client rebuilds it
 * from the address of the callback, without its query and in normal form, and many IdPs compare to the letter. Source:
 * RFC 6749, section 4.1.3.
 */
function withExactRedirect(fetch: Fetch, redirectUri: string): Fetch {
  return (url, init) => {
    if (!(init.body instanceof URLSearchParams)) return fetch(url, init)
    const written = init.body.get('redirect_uri')
    if (written === null || written === redirectUri) return fetch(url, init)
    const body = new URLSearchParams(init.body)
    body.set('redirect_uri', redirectUri)
    return fetch(url, { ...init, body })
  }
}
