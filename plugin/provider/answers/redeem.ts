import { decodeJwt } from 'jose'
import * as oidc from 'openid-client'
import type { DomainSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import type { Tokens } from '../../host/port.ts'
import { claimAt } from '../../login/claim-path.ts'
import type { Claims } from '../../login/profile.ts'
import type { Transaction } from '../../login/transaction/transaction.ts'
import { isShared } from '../authentication/client-signature.ts'
import type { DpopKey } from '../authentication/dpop.ts'
import { explainScopes } from '../faults/scope-refusal.ts'
import { objectedIdToken } from '../faults/token-fault.ts'
import { translateLoginFault } from '../faults.ts'
import type { Issuer } from '../issuer/discovery.ts'
import type { KeySet } from '../issuer/key-set.ts'
import type { IdpSignatures } from '../protection/id-token-signature.ts'
import { openIdToken } from '../protection/protected-answers.ts'
import { objectionToBinding, objectionToTokenHash } from '../tokens/access-token-rules.ts'
import { authenticatedAt, objectionToFrontToken, objectionToIdToken } from '../tokens/id-token-rules.ts'
import { NO_ACCESS_TOKEN } from './no-access-token.ts'
import { type OpenedAnswer, verifiedParameters } from './signed-answer.ts'
import { askUserInfo, NOT_NEEDED } from './user-info.ts'

/** What a redeemed login brought, verified. */
export interface Redeemed {
  readonly issuer: string
  readonly subject: string
  readonly sid: string | null
  /**
   * When the person authenticated, by this server's clock, and not before this. Milliseconds since 1970; null where
   * nobody knows.
   */
  readonly authenticatedAt: number | null
  /** ID token and UserInfo together; the ID token wins, since it is signed. */
  readonly claims: Claims
  /** Why UserInfo gave no answer though it was needed: claims may be missing. Null: it answered, or was not needed. */
  readonly userInfoFailure: LoginError | null
  /** A secret: never in a log. */
  readonly idToken: string
  /** A secret; null when the flow brings none. */
  readonly accessToken: string | null
  /** Null: the IdP does not say, so all that were asked for (RFC 6749, section 5.1). */
  readonly grantedScopes: readonly string[] | null
  /**
   * What a session has to keep to be renewed or introspected, and its tokens revoked; null where the IdP can do none of
   * it.
   */
  readonly tokens: Tokens | null
}

/**
 * Makes of an answer what a login brought.
 *
 * @throws LoginError
 */
export type Redeem = (answer: OpenedAnswer, transaction: Transaction) => Promise<Redeemed>

export interface RedeemDeps {
  readonly issuer: Issuer
  readonly keySet: KeySet
  readonly signatures: IdpSignatures
  /** Asked for at each login. */
  readonly scopes: readonly string[]
  /** Claims that a login reads: where the ID token brings them all, the UserInfo request is saved. */
  readonly claims: readonly string[]
  readonly now: () => number
  /** Null: access tokens are bound to no key. */
  readonly dpop: DpopKey | null
  /**
   * A configuration of its own for each signature that the library verifies: it keeps the key set that it got first. A
   * key that the IdP rotated in works at once, then, and one that it withdrew stops working.
   *
   * @param token whose signature it is
   */
  configure(metadata: oidc.ServerMetadata, token?: string): oidc.Configuration
  /** The one for what looks at no signature: it holds a copy of all that the IdP publishes, so it is made once. */
  configured(metadata: oidc.ServerMetadata): oidc.Configuration
}

export function createRedeem(settings: DomainSettings, deps: RedeemDeps): Redeem {
  const { client, credentials } = settings
  const { dpop, now } = deps
  const [responseType] = client.response_types

  /** Asks for the keys together with the token that they are for: one after the other, both would be waited for. */
  function askForKeys({ jwks_uri: address }: oidc.ServerMetadata): Promise<unknown> {
    if (address === undefined || isShared(client.id_token_signed_response_alg)) return Promise.resolve()
    const keys = deps.keySet.current(address)
    // A token request that fails is what the login fails of; nobody waits for the keys then.
    keys.catch(() => undefined)
    return keys
  }

  /** For requests whose access token is bound to a key. */
  async function proving(config: oidc.Configuration): Promise<oidc.DPoPOptions> {
    return dpop ? { DPoP: await dpop(config) } : {}
  }

  async function userInfo(metadata: oidc.ServerMetadata, accessToken: string, idClaims: oidc.IDToken) {
    if (deps.claims.every((name) => claimAt(idClaims, name) !== undefined)) return NOT_NEEDED
    const config = deps.configure(metadata)
    // The library trusts TLS alone, unless told otherwise: whatever signed the ID token, a signed answer is verified.
    oidc.enableNonRepudiationChecks(config)
    const proof = await proving(config)
    return askUserInfo(() => oidc.fetchUserInfo(config, accessToken, idClaims.sub, proof), idClaims, settings)
  }

  /** The answer with its ID token as the library needs it, and that token. */
  async function opened(answer: URLSearchParams) {
    const [shown, ...others] = answer.getAll('id_token')
    // The library would verify one of them, and nobody knows which one is meant.
    judge(others.length > 0 ? 'there is more than one ID token' : undefined)
    if (shown === undefined) return { parameters: answer, frontToken: undefined }
    const frontToken = await openIdToken(shown, settings)
    const parameters = new URLSearchParams(answer)
    parameters.set('id_token', frontToken)
    return { parameters, frontToken }
  }

  async function grant(metadata: oidc.ServerMetadata, answer: OpenedAnswer, transaction: Transaction) {
    const verify = (token: string, algorithm: string) => deps.signatures.verify(token, metadata, algorithm)
    const plain = await verifiedParameters(answer, client, metadata.issuer, verify, now() / 1000)
    const { parameters, frontToken } = await opened(plain)
    // With a code alone there is no signature for the library: the token that it is redeemed for is verified below.
    const config = responseType === 'code' ? deps.configured(metadata) : deps.configure(metadata, frontToken)
    const url = new URL(client.redirect_uri)
    // `default_max_age` and `require_auth_time` the library knows by the configuration.
    const checks = { expectedState: transaction.state }
    if (responseType === 'id_token') {
      url.hash = parameters.toString()
      const claims = await oidc.implicitAuthentication(config, url, transaction.nonce, checks)
      return { claims, idToken: frontToken ?? '', tokens: null, grantedScopes: null, askedAt: null }
    }
    if (responseType === 'code') url.search = parameters.toString()
    else url.hash = parameters.toString()
    const expected = { ...checks, expectedNonce: transaction.nonce, pkceCodeVerifier: transaction.codeVerifier }
    const keys = askForKeys(metadata)
    const askedAt = now()
    const tokens = await oidc.authorizationCodeGrant(config, url, expected, undefined, await proving(config))
    // What anybody can use who gets hold of it is not what was asked for.
    if (dpop && tokens.token_type !== 'dpop') throw refusedToken('it is not bound to the key of this server')
    // Where it expects a nonce, the library demands an ID token.
    const claims = tokens.claims() as oidc.IDToken
    const idToken = tokens.id_token as string
    // The library trusts TLS alone for what the token endpoint says, and would look for its key among those of the
    // token before. A failure ends the login here: it is not asked for once more.
    await keys
    await deps.signatures.verifyIdToken(idToken, metadata)
    // The library has verified it by now.
    if (frontToken !== undefined) {
      const front = decodeJwt(frontToken)
      judge(objectionToFrontToken(front, claims, client.client_id, now() / 1000), front)
    }
    const lifeS = tokens.expiresIn()
    const access = tokens.access_token === NO_ACCESS_TOKEN ? null : tokens.access_token
    const accessExpiresAt = lifeS === undefined ? null : now() + lifeS * 1000
    const grantedScopes = tokens.scope?.split(' ') ?? null
    const offline = (grantedScopes ?? deps.scopes).includes('offline_access')
    return {
      claims,
      idToken,
      tokens: access === null ? null : { access, accessExpiresAt, refresh: tokens.refresh_token ?? null, offline },
      grantedScopes,
      askedAt,
    }
  }

  /** @param claims those of the token that the objection is to */
  function judge(objection: string | undefined, claims: Claims = {}): void {
    if (objection) throw objectedIdToken(objection, claims, now() / 1000)
  }

  function judgeAccessToken(accessToken: string, idClaims: Claims): void {
    const reason =
      objectionToTokenHash(accessToken, idClaims, client.id_token_signed_response_alg) ??
      (credentials.certificate ? objectionToBinding(accessToken, credentials.certificate.thumbprint) : undefined)
    if (reason) throw refusedToken(reason)
  }

  return async (answer, transaction) => {
    const metadata = await deps.issuer.metadata()
    const { claims, idToken, tokens, grantedScopes, askedAt } = await grant(metadata, answer, transaction).catch(
      (error: unknown) => {
        throw explainScopes(translateLoginFault(error, client), deps.scopes)
      },
    )
    judge(objectionToIdToken(claims, client.client_id, now() / 1000), claims)
    judgeContext(claims, settings.custom.requiredAcr)
    const accessToken = tokens?.access ?? null
    if (accessToken !== null) judgeAccessToken(accessToken, claims)
    const more = accessToken && metadata.userinfo_endpoint ? await userInfo(metadata, accessToken, claims) : NOT_NEEDED
    return {
      issuer: metadata.issuer,
      subject: claims.sub,
      sid: typeof claims.sid === 'string' ? claims.sid : null,
      authenticatedAt: askedAt === null ? null : authenticatedAt(claims, askedAt),
      claims: { ...more.claims, ...claims },
      userInfoFailure: more.failure,
      idToken,
      accessToken,
      grantedScopes,
      tokens: tokens?.refresh || metadata.introspection_endpoint || metadata.revocation_endpoint ? tokens : null,
    }
  }
}

/** By the ID token alone: what UserInfo says of an `acr` is of no login. Source: OpenID Connect Core 1.0, section 2. */
function judgeContext({ acr }: Claims, required: readonly string[]): void {
  if (required.length === 0 || required.some((one) => one === acr)) return
  throw new LoginError('acr_missing', { details: { acr: typeof acr === 'string' ? acr : null, required } })
}

function refusedToken(reason: string): LoginError {
  return new LoginError('access_token_invalid', { details: { reason } })
}
