import { decodeJwt } from 'jose'
import * as oidc from 'openid-client'
import type { ClientSettings, DomainSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import type { Tokens } from '../../host/port.ts'
import type { Transaction } from '../../login/transaction/transaction.ts'
import { isShared } from '../authentication/client-signature.ts'
import { type DpopKey, proofFor } from '../authentication/dpop.ts'
import { objectedIdToken } from '../faults/token-fault.ts'
import type { KeySet } from '../issuer/key-set.ts'
import type { IdpSignatures } from '../protection/id-token-signature.ts'
import { openIdToken } from '../protection/protected-answers.ts'
import { objectionToFrontToken } from '../tokens/id-token-rules.ts'
import { NO_ACCESS_TOKEN } from './no-access-token.ts'
import { type OpenedAnswer, verifiedParameters } from './signed-answer.ts'

/**
 * The result of a verified authorization response: the ID token's claims, and the tokens that the IdP issued with it.
 */
export interface Exchanged {
  readonly claims: oidc.IDToken
  /** A secret. Must never be logged. */
  readonly idToken: string
  /** The access token and the tokens that came with it. Null if the flow or the IdP issues no access token. */
  readonly tokens: Tokens | null
  /** The scopes that the IdP granted. Null if it does not name them, or if the flow grants none. */
  readonly grantedScopes: readonly string[] | null
  /** When the tokens were requested, in milliseconds since 1970. Null if the flow has no token request. */
  readonly requestedAt: number | null
}

export interface ExchangeDeps {
  readonly keySet: KeySet
  readonly signatures: IdpSignatures
  /** The scopes that each login requests. */
  readonly scopes: readonly string[]
  /** Returns the current time in milliseconds since 1970. */
  readonly now: () => number
  /** The key that access tokens are bound to (DPoP). Null if they are not bound to a key. */
  readonly dpop: DpopKey | null
  /**
   * Returns a new openid-client configuration, for one token. The library keeps its keys, so a reused one would miss
   * added and withdrawn keys.
   *
   * @param token the token to verify
   */
  newConfiguration(metadata: oidc.ServerMetadata, token?: string): oidc.Configuration
  /** Returns the configuration for answers that the library need not verify. A new one would copy the metadata. */
  sharedConfiguration(metadata: oidc.ServerMetadata): oidc.Configuration
}

/** The inputs for the exchange of one authorization response. */
export interface Exchange {
  readonly transaction: Transaction
  readonly metadata: oidc.ServerMetadata
  readonly settings: DomainSettings
  readonly deps: ExchangeDeps
}

/**
 * Verifies an authorization response. If the response contains a code, exchanges it for tokens.
 *
 * @throws LoginError, and errors of openid-client
 */
export async function exchangeAnswer(answer: OpenedAnswer, exchange: Exchange): Promise<Exchanged> {
  const { transaction, metadata, settings, deps } = exchange
  const { client } = settings
  const [responseType] = client.response_types
  const verify = (token: string, algorithm: string) => deps.signatures.verify(token, metadata, algorithm)
  const plain = await verifiedParameters(answer, client, metadata.issuer, verify, deps.now() / 1000)
  const { parameters, frontToken } = await openFrontToken(plain, settings, deps.now() / 1000)
  const callback = new URL(client.redirect_uri)
  if (responseType === 'code') callback.search = parameters.toString()
  else callback.hash = parameters.toString()
  if (responseType !== 'id_token') return redeemCode(callback, frontToken, exchange)
  // The library itself reads `default_max_age` and `require_auth_time` from the configuration, so they are not passed
  // here.
  const config = deps.newConfiguration(metadata, frontToken)
  const checks = { expectedState: transaction.state }
  const claims = await oidc.implicitAuthentication(config, callback, transaction.nonce, checks)
  return { claims, idToken: frontToken ?? '', tokens: null, grantedScopes: null, requestedAt: null }
}

/** @param frontToken the decrypted ID token that arrived through the browser together with the code, if any */
async function redeemCode(callback: URL, frontToken: string | undefined, exchange: Exchange): Promise<Exchanged> {
  const { transaction, metadata, settings, deps } = exchange
  const { client } = settings
  const { dpop, now } = deps
  // If the response contains only a code, the library verifies no signature. Below, this server verifies the ID token
  // from the token endpoint.
  const isCodeAlone = client.response_types[0] === 'code'
  const config = isCodeAlone ? deps.sharedConfiguration(metadata) : deps.newConfiguration(metadata, frontToken)
  const checks = {
    expectedState: transaction.state,
    expectedNonce: transaction.nonce,
    pkceCodeVerifier: transaction.codeVerifier,
  }
  const keys = requestKeys(metadata, client, deps.keySet)
  const requestedAt = now()
  const response = await oidc.authorizationCodeGrant(config, callback, checks, undefined, await proofFor(dpop, config))
  // Refuse an access token that is not bound to the client's key, because anyone who steals such a token can use it.
  if (dpop && response.token_type !== 'dpop') {
    const reason = "it is not bound to this server's DPoP key, as `client.dpop_bound_access_tokens` requires"
    throw new LoginError('access_token_invalid', { details: { reason } })
  }
  // The library guarantees an ID token, because the request expects a nonce.
  const claims = response.claims() as oidc.IDToken
  const idToken = response.id_token as string
  // Verify the signature, because the library relies on TLS here. Without the keys, the login fails without a retry.
  await keys
  await deps.signatures.verifyIdToken(idToken, metadata)
  // openid-client has already verified the signature of the ID token that came through the browser. Check its claims
  // here.
  if (frontToken !== undefined) {
    const frontClaims = decodeJwt(frontToken)
    const objection = objectionToFrontToken(frontClaims, claims, client.client_id, now() / 1000)
    if (objection) throw objectedIdToken(objection, frontClaims, now() / 1000)
  }
  const grantedScopes = response.scope?.split(' ') ?? null
  return { claims, idToken, tokens: tokensOf(response, grantedScopes, deps), grantedScopes, requestedAt }
}

function tokensOf(
  response: oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers,
  grantedScopes: readonly string[] | null,
  { scopes, now }: ExchangeDeps,
): Tokens | null {
  if (response.access_token === NO_ACCESS_TOKEN) return null
  const lifetimeS = response.expiresIn()
  return {
    access: response.access_token,
    accessExpiresAt: lifetimeS === undefined ? null : now() + lifetimeS * 1000,
    refresh: response.refresh_token ?? null,
    offline: (grantedScopes ?? scopes).includes('offline_access'),
  }
}

/** Requests the IdP's keys while the code is being redeemed, so that the two requests run in parallel. */
function requestKeys(
  { jwks_uri: address }: oidc.ServerMetadata,
  client: ClientSettings,
  keySet: KeySet,
): Promise<unknown> {
  if (address === undefined || isShared(client.id_token_signed_response_alg)) return Promise.resolve()
  const keys = keySet.current(address)
  // If the token request fails first, no code awaits the keys. Without this handler, Node.js would report an unhandled
  // rejection.
  keys.catch(() => undefined)
  return keys
}

/**
 * Decrypts the ID token in an authorization response. Returns the response with the decrypted token, and the token
 * itself.
 */
async function openFrontToken(answer: URLSearchParams, settings: DomainSettings, nowS: number) {
  const [encrypted, ...duplicates] = answer.getAll('id_token')
  // Refuse a response with several ID tokens. The library would verify only one of them, and it is unclear which one
  // the IdP means.
  if (duplicates.length > 0) throw objectedIdToken('there is more than one ID token', {}, nowS)
  if (encrypted === undefined) return { parameters: answer, frontToken: undefined }
  const frontToken = await openIdToken(encrypted, settings)
  const parameters = new URLSearchParams(answer)
  parameters.set('id_token', frontToken)
  return { parameters, frontToken }
}
