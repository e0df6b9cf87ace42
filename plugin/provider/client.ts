import { decodeJwt } from 'jose'
import * as oidc from 'openid-client'
import type { ClientSettings, DomainSettings } from '../config/settings.ts'
import { LoginError } from '../errors.ts'
import { claimAt } from '../login/claim-path.ts'
import type { Claims } from '../login/profile.ts'
import type { Transaction } from '../login/transaction.ts'
import { type AuthenticatedEndpoint, clientAuthentication, clientMetadata } from './authentication/client-options.ts'
import { isShared } from './authentication/client-signature.ts'
import { translateLoginFault, translateUserInfoFault } from './faults.ts'
import { endpointAddress } from './http/endpoint-address.ts'
import { endpointName } from './http/endpoint-names.ts'
import { withExactRedirect } from './http/exact-redirect.ts'
import type { Fetch } from './http/guarded-fetch.ts'
import { noteExchanges } from './http/noted-exchange.ts'
import type { Issuer } from './issuer/discovery.ts'
import { type EndingSession, logoutHint } from './logout/logout-hint.ts'
import { openAnswers, openIdToken, verifySharedSignature } from './protection/protected-answers.ts'
import { authorizationParameters } from './protection/request-object.ts'
import { objectionToBinding, objectionToTokenHash } from './tokens/access-token-rules.ts'
import { objectionToFrontToken, objectionToIdToken } from './tokens/id-token-rules.ts'
import { type TokenVerbs, tokenVerbs } from './tokens/token-status.ts'

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
  /** Null: the IdP does not say, so all that were asked for (RFC 6749, section 5.1). */
  readonly grantedScopes: readonly string[] | null
  /** What a session has to keep to be introspected and its tokens revoked; null where the IdP can do neither. */
  readonly tokens: SessionTokens | null
}

/** Secrets. */
export interface SessionTokens {
  readonly access: string
  /** Milliseconds since 1970; null when the IdP does not say. */
  readonly accessExpiresAt: number | null
  readonly refresh: string | null
}

/** One domain's client at its identity provider. Every method throws LoginError only. */
export interface ProviderClient extends TokenVerbs {
  authorizationUrl(transaction: Transaction): Promise<URL>
  /** @param answer parameters that came back with the browser */
  redeem(answer: URLSearchParams, transaction: Transaction): Promise<Redeemed>
  /** Where the browser ends its session at the IdP. @param session null: it is none of this IdP's */
  endSessionUrl(session: EndingSession | null): Promise<URL>
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
  const { client, credentials } = settings
  const { issuer, fetch, now } = deps
  const [responseType] = client.response_types

  /**
   * A configuration without cached keys: for a login's answer a fresh one is made, so that the key set is asked for each time. A key
   * that the IdP rotated in works at once, and one that it withdrew stops working at once.
   */
  function configure(metadata: oidc.ServerMetadata, endpoint: AuthenticatedEndpoint = 'token'): oidc.Configuration {
    const config = new oidc.Configuration(
      metadata,
      client.client_id,
      clientMetadata(settings),
      clientAuthentication(settings, endpoint, metadata, now),
    )
    const endpoints = {
      token: endpointAddress(metadata, credentials, 'token_endpoint'),
      userinfo: endpointAddress(metadata, credentials, 'userinfo_endpoint'),
    }
    const noted = noteExchanges(fetch, (address) => endpointName(metadata, address))
    config[oidc.customFetch] = withExactRedirect(openAnswers(noted, endpoints, settings), client.redirect_uri)
    // The guarded fetch has the last word on time and on plain HTTP.
    config.timeout = 0
    oidc.allowInsecureRequests(config)
    if (responseType === 'id_token') oidc.useIdTokenResponseType(config)
    if (responseType === 'code id_token') oidc.useCodeIdTokenResponseType(config)
    // The library trusts TLS alone for tokens from the token endpoint, unless told otherwise.
    if (!isShared(client.id_token_signed_response_alg)) oidc.enableNonRepudiationChecks(config)
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
    if (deps.claims.every((name) => claimAt(idClaims, name) !== undefined)) return {}
    // Whatever signed the ID token: a signed answer is verified.
    oidc.enableNonRepudiationChecks(config)
    try {
      return await oidc.fetchUserInfo(config, accessToken, idClaims.sub)
    } catch (error) {
      throw translateUserInfoFault(error)
    }
  }

  /** The answer with its ID token as the library needs it, and that token. */
  async function opened(answer: URLSearchParams) {
    const [shown, ...others] = answer.getAll('id_token')
    // The library would verify one of them, and nobody knows which one is meant.
    judge(others.length > 0 ? 'there is more than one ID token' : undefined)
    if (shown === undefined) return { parameters: answer, frontToken: null }
    const frontToken = await openIdToken(shown, settings)
    const parameters = new URLSearchParams(answer)
    parameters.set('id_token', frontToken)
    return { parameters, frontToken }
  }

  async function grant(config: oidc.Configuration, answer: URLSearchParams, transaction: Transaction) {
    const { parameters, frontToken } = await opened(answer)
    const url = new URL(client.redirect_uri)
    const checks = {
      expectedState: transaction.state,
      ...(client.default_max_age === undefined ? {} : { maxAge: client.default_max_age }),
    }
    if (responseType === 'id_token') {
      url.hash = parameters.toString()
      const claims = await oidc.implicitAuthentication(config, url, transaction.nonce, checks)
      return { claims, idToken: frontToken ?? '', tokens: null, grantedScopes: null }
    }
    if (responseType === 'code') url.search = parameters.toString()
    else url.hash = parameters.toString()
    const tokens = await oidc.authorizationCodeGrant(config, url, {
      ...checks,
      expectedNonce: transaction.nonce,
      pkceCodeVerifier: transaction.codeVerifier,
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    if (!claims || !tokens.id_token) throw new LoginError('id_token_invalid', { details: { reason: 'no ID token' } })
    await verifySharedSignature(tokens.id_token, settings)
    // The library has verified it by now.
    if (frontToken !== null) judge(objectionToFrontToken(decodeJwt(frontToken), claims, client.client_id, now() / 1000))
    const lifeS = tokens.expiresIn()
    const access = tokens.access_token
    const accessExpiresAt = lifeS === undefined ? null : now() + lifeS * 1000
    return {
      claims,
      idToken: tokens.id_token,
      tokens: { access, accessExpiresAt, refresh: tokens.refresh_token ?? null },
      grantedScopes: tokens.scope?.split(' ') ?? null,
    }
  }

  function judgeAccessToken(accessToken: string, idClaims: Claims): void {
    const reason =
      objectionToTokenHash(accessToken, idClaims, client.id_token_signed_response_alg) ??
      (credentials.certificate ? objectionToBinding(accessToken, credentials.certificate.thumbprint) : undefined)
    if (reason) throw new LoginError('access_token_invalid', { details: { reason } })
  }

  return {
    async authorizationUrl({ state, nonce, codeVerifier }) {
      const { config, metadata } = await keptConfiguration()
      if (!metadata.authorization_endpoint) {
        throw new LoginError('metadata_incomplete', { details: { endpoint: 'authorization_endpoint' } })
      }
      const asked = {
        redirect_uri: client.redirect_uri,
        scope: deps.scopes.join(' '),
        response_type: responseType,
        state,
        nonce,
        // S256 even where the IdP advertises only `plain`: a server that cannot do it says so.
        code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        ...(answersByPost(settings) ? { response_mode: 'form_post' } : {}),
        ...demandedTime(client, metadata),
      }
      try {
        const parameters = await authorizationParameters(asked, metadata, settings, { fetch, now })
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
      const { claims, idToken, tokens, grantedScopes } = await grant(config, answer, transaction).catch(
        (error: unknown) => {
          throw translateLoginFault(error)
        },
      )
      judge(objectionToIdToken(claims, client.client_id, now() / 1000))
      const accessToken = tokens?.access ?? null
      if (accessToken !== null) judgeAccessToken(accessToken, claims)
      const more = accessToken && metadata.userinfo_endpoint ? await userInfo(config, accessToken, claims) : {}
      return {
        issuer: metadata.issuer,
        subject: claims.sub,
        sid: typeof claims.sid === 'string' ? claims.sid : null,
        claims: { ...more, ...claims },
        idToken,
        accessToken,
        grantedScopes,
        tokens: metadata.introspection_endpoint || metadata.revocation_endpoint ? tokens : null,
      }
    },

    async endSessionUrl(session) {
      if (settings.logoutUrl !== null) return new URL(settings.logoutUrl)
      const { config } = await keptConfiguration()
      return oidc.buildEndSessionUrl(config, {
        ...(session === null ? {} : logoutHint(session)),
        ...(client.post_logout_redirect_uri === null
          ? {}
          : { post_logout_redirect_uri: client.post_logout_redirect_uri }),
      })
    },

    ...tokenVerbs(settings, async (endpoint) => configure(await issuer.metadata(), endpoint)),

    close: () => issuer.close(),
  }
}

function judge(objection: string | undefined): void {
  if (objection) throw new LoginError('id_token_invalid', { details: { reason: objection } })
}

/** How an IdP is asked to tell when the person last signed in there: a greatest age implies it. */
function demandedTime(client: ClientSettings, metadata: oidc.ServerMetadata): Readonly<Record<string, string>> {
  if (client.default_max_age !== undefined) return { max_age: String(client.default_max_age) }
  if (!client.require_auth_time || metadata.claims_parameter_supported !== true) return {}
  return { claims: JSON.stringify({ id_token: { auth_time: { essential: true } } }) }
}
