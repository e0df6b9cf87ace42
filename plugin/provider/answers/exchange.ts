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

/** The result of an authorization response: a verified ID token, and the tokens that the IdP issued with it. */
export interface Exchanged {
  readonly claims: oidc.IDToken
  /** A secret: never in a log. */
  readonly idToken: string
  /** Null if the flow or the IdP issues no access token. */
  readonly tokens: Tokens | null
  /** Null if the IdP does not say, or the flow grants no scopes. */
  readonly grantedScopes: readonly string[] | null
  /** When the tokens were requested, in milliseconds since 1970; null if the flow has no token request. */
  readonly requestedAt: number | null
}

export interface ExchangeDeps {
  readonly keySet: KeySet
  readonly signatures: IdpSignatures
  /** Requested at each login. */
  readonly scopes: readonly string[]
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Null: access tokens are not bound to a key. */
  readonly dpop: DpopKey | null
  /**
   * Returns a new configuration for each signature that the library verifies, because the library keeps the first key
   * set that it loads. So a key that the IdP adds works at once, and a key that it withdraws stops working.
   *
   * @param token the token whose signature is about to be verified
   */
  newConfiguration(metadata: oidc.ServerMetadata, token?: string): oidc.Configuration
  /**
   * Returns the configuration for requests without a signature to verify. It is reused, because it copies the metadata.
   */
  sharedConfiguration(metadata: oidc.ServerMetadata): oidc.Configuration
}

/** A login during the exchange of its answer. */
export interface Exchange {
  readonly transaction: Transaction
  readonly metadata: oidc.ServerMetadata
  readonly settings: DomainSettings
  readonly deps: ExchangeDeps
}

/**
 * Verifies an authorization response, and redeems the code that it contains, if any.
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
  // The library takes `default_max_age` and `require_auth_time` from the configuration.
  const config = deps.newConfiguration(metadata, frontToken)
  const checks = { expectedState: transaction.state }
  const claims = await oidc.implicitAuthentication(config, callback, transaction.nonce, checks)
  return { claims, idToken: frontToken ?? '', tokens: null, grantedScopes: null, requestedAt: null }
}

/** @param frontToken the ID token that came with the code, decrypted */
async function redeemCode(callback: URL, frontToken: string | undefined, exchange: Exchange): Promise<Exchanged> {
  const { transaction, metadata, settings, deps } = exchange
  const { client } = settings
  const { dpop, now } = deps
  // Without a front token the library verifies no signature. The ID token of the token endpoint is verified below.
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
  // Anyone who steals an unbound token can use it, and this client demands bound ones.
  if (dpop && response.token_type !== 'dpop') {
    throw new LoginError('access_token_invalid', { details: { reason: 'it is not bound to the key of this server' } })
  }
  // Because a nonce is expected, the library guarantees an ID token.
  const claims = response.claims() as oidc.IDToken
  const idToken = response.id_token as string
  // The library trusts TLS alone for answers of the token endpoint, so this server verifies the signature itself.
  // If the keys cannot be loaded, the login fails; it does not try again.
  await keys
  await deps.signatures.verifyIdToken(idToken, metadata)
  // The library has already verified the signature of the front token.
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

/**
 * Requests the IdP's keys while the code is being redeemed, so that the login does not wait for one after the other.
 */
function requestKeys(
  { jwks_uri: address }: oidc.ServerMetadata,
  client: ClientSettings,
  keySet: KeySet,
): Promise<unknown> {
  if (address === undefined || isShared(client.id_token_signed_response_alg)) return Promise.resolve()
  const keys = keySet.current(address)
  // If the token request fails first, nothing awaits the keys, so their failure must not stay unhandled.
  keys.catch(() => undefined)
  return keys
}

/** Decrypts the ID token in an answer. Returns the answer with the decrypted token, and that token. */
async function openFrontToken(answer: URLSearchParams, settings: DomainSettings, nowS: number) {
  const [encrypted, ...duplicates] = answer.getAll('id_token')
  // Refuses an answer with several ID tokens: the library would verify one of them, and it is unclear which one the IdP
  // means.
  if (duplicates.length > 0) throw objectedIdToken('there is more than one ID token', {}, nowS)
  if (encrypted === undefined) return { parameters: answer, frontToken: undefined }
  const frontToken = await openIdToken(encrypted, settings)
  const parameters = new URLSearchParams(answer)
  parameters.set('id_token', frontToken)
  return { parameters, frontToken }
}
