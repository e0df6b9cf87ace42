import * as oidc from 'openid-client'
import type { DomainSettings } from '../config/settings.ts'
import { LoginError } from '../errors.ts'
import type { Claims } from '../login/profile.ts'
import type { Transaction } from '../login/transaction.ts'
import { assertNoKeysNeeded, clientAuthentication, clientMetadata } from './client-options.ts'
import type { Issuer } from './discovery.ts'
import { translateLoginFault, translateUserInfoFault } from './faults.ts'
import type { Fetch } from './guarded-fetch.ts'
import { objectionToIdToken } from './id-token-rules.ts'

/** What a redeemed login brought, verified. */
export interface Redeemed {
  readonly issuer: string
  readonly subject: string
  readonly sid: string | null
  /** ID token and UserInfo together; the ID token wins, since it is signed. */
  readonly claims: Claims
  /** A secret: never in a log. */
  readonly idToken: string
  /** A secret; null when the flow brings none. */
  readonly accessToken: string | null
}

/** One domain's client at its identity provider. Every method throws LoginError only. */
export interface ProviderClient {
  authorizationUrl(transaction: Transaction): Promise<URL>
  /** @param answer parameters that came back with the browser */
  redeem(answer: URLSearchParams, transaction: Transaction): Promise<Redeemed>
  /** Where the browser ends its session at the IdP. @param idToken of the login, null when it is not known any more */
  endSessionUrl(idToken: string | null): Promise<URL>
  close(): void
}

export interface ClientDeps {
  readonly issuer: Issuer
  /** Guarded. */
  readonly fetch: Fetch
  /** Asked for at each login; `openid` is among them. */
  readonly scopes: readonly string[]
  /** Claims that a login reads: where the ID token brings them all, the UserInfo request is saved. */
  readonly claims: readonly string[]
  readonly now: () => number
}

/** Whether answers come as a form that the IdP's page posts: an ID token in an address would end up in logs and histories. */
export function answersByPost(settings: DomainSettings): boolean {
  return settings.client.response_types[0] !== 'code'
}

export function createProviderClient(settings: DomainSettings, deps: ClientDeps): ProviderClient {
  const { client } = settings
  const { issuer, fetch, now } = deps
  const [responseType] = client.response_types

  /**
   * A configuration without cached keys: for a login's answer a fresh one is made, so that the key set is asked for each time. A key
   * that the IdP rotated in works at once, and one that it withdrew stops working at once.
   */
  function configure(metadata: oidc.ServerMetadata): oidc.Configuration {
    assertNoKeysNeeded(client)
    const config = new oidc.Configuration(
      metadata,
      client.client_id,
      clientMetadata(client),
      clientAuthentication(client),
    )
    config[oidc.customFetch] = fetch
    // The guarded fetch has the last word on time and on plain HTTP.
    config.timeout = 0
    oidc.allowInsecureRequests(config)
    if (responseType === 'id_token') oidc.useIdTokenResponseType(config)
    if (responseType === 'code id_token') oidc.useCodeIdTokenResponseType(config)
    // The library trusts TLS alone for tokens from the token endpoint, unless told otherwise.
    oidc.enableNonRepudiationChecks(config)
    return config
  }

  let kept: { readonly metadata: oidc.ServerMetadata; readonly config: oidc.Configuration } | undefined
  /** For what looks at no signature; made anew when discovery has found something new. */
  async function keptConfiguration() {
    const metadata = await issuer.metadata()
    if (kept?.metadata !== metadata) kept = { metadata, config: configure(metadata) }
    return kept
  }

  async function userInfo(config: oidc.Configuration, accessToken: string, idClaims: oidc.IDToken): Promise<Claims> {
    if (deps.claims.every((name) => idClaims[name] !== undefined)) return {}
    try {
      return await oidc.fetchUserInfo(config, accessToken, idClaims.sub)
    } catch (error) {
      throw translateUserInfoFault(error)
    }
  }

  async function grant(config: oidc.Configuration, answer: URLSearchParams, transaction: Transaction) {
    const url = new URL(client.redirect_uri)
    const checks = {
      expectedState: transaction.state,
      ...(client.default_max_age === undefined ? {} : { maxAge: client.default_max_age }),
    }
    if (responseType === 'id_token') {
      url.hash = answer.toString()
      const claims = await oidc.implicitAuthentication(config, url, transaction.nonce, checks)
      return { claims, idToken: answer.get('id_token') ?? '', accessToken: null }
    }
    if (responseType === 'code') url.search = answer.toString()
    else url.hash = answer.toString()
    const tokens = await oidc.authorizationCodeGrant(config, url, {
      ...checks,
      expectedNonce: transaction.nonce,
      pkceCodeVerifier: transaction.codeVerifier,
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    if (!claims || !tokens.id_token) throw new LoginError('id_token_invalid', { details: { reason: 'no ID token' } })
    return { claims, idToken: tokens.id_token, accessToken: tokens.access_token }
  }

  return {
    async authorizationUrl({ state, nonce, codeVerifier }) {
      const { config, metadata } = await keptConfiguration()
      if (!metadata.authorization_endpoint) throw new LoginError('metadata_incomplete')
      const parameters = {
        redirect_uri: client.redirect_uri,
        scope: deps.scopes.join(' '),
        response_type: responseType,
        state,
        nonce,
        // S256 even where the IdP advertises only `plain`: a server that cannot do it says so.
        code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        ...(answersByPost(settings) ? { response_mode: 'form_post' } : {}),
        ...(client.default_max_age === undefined ? {} : { max_age: String(client.default_max_age) }),
      }
      try {
        return metadata.require_pushed_authorization_requests
          ? await oidc.buildAuthorizationUrlWithPAR(config, parameters)
          : oidc.buildAuthorizationUrl(config, parameters)
      } catch (error) {
        throw translateLoginFault(error)
      }
    },

    async redeem(answer, transaction) {
      const metadata = await issuer.metadata()
      const config = configure(metadata)
      const { claims, idToken, accessToken } = await grant(config, answer, transaction).catch((error: unknown) => {
        throw translateLoginFault(error)
      })
      const objection = objectionToIdToken(claims, client.client_id, now() / 1000)
      if (objection) throw new LoginError('id_token_invalid', { details: { reason: objection } })
      const more = accessToken && metadata.userinfo_endpoint ? await userInfo(config, accessToken, claims) : {}
      return {
        issuer: metadata.issuer,
        subject: claims.sub,
        sid: typeof claims.sid === 'string' ? claims.sid : null,
        claims: { ...more, ...claims },
        idToken,
        accessToken,
      }
    },

    async endSessionUrl(idToken) {
      if (settings.logoutUrl !== null) return new URL(settings.logoutUrl)
      const { config } = await keptConfiguration()
      return oidc.buildEndSessionUrl(config, {
        ...(idToken === null ? {} : { id_token_hint: idToken }),
        ...(client.post_logout_redirect_uri === null
          ? {}
          : { post_logout_redirect_uri: client.post_logout_redirect_uri }),
      })
    },

    close: () => issuer.close(),
  }
}
