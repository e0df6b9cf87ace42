import * as oidc from 'openid-client'
import type { DomainSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import type { Tokens } from '../../host/port.ts'
import { claimAt } from '../../login/claim-path.ts'
import type { Claims } from '../../login/profile.ts'
import type { Transaction } from '../../login/transaction/transaction.ts'
import { proofFor } from '../authentication/dpop.ts'
import { explainScopes } from '../faults/scope-refusal.ts'
import { objectedIdToken } from '../faults/token-fault.ts'
import { translateLoginFault } from '../faults.ts'
import type { Issuer } from '../issuer/discovery.ts'
import { objectionToBinding, objectionToTokenHash } from '../tokens/access-token-rules.ts'
import { authenticatedAt, objectionToIdToken } from '../tokens/id-token-rules.ts'
import { type ExchangeDeps, exchangeAnswer } from './exchange.ts'
import type { OpenedAnswer } from './signed-answer.ts'
import { askUserInfo, NOT_NEEDED } from './user-info.ts'

/** The verified outcome of a login at the identity provider. */
export interface Redeemed {
  readonly issuer: string
  readonly subject: string
  readonly sid: string | null
  /**
   * The earliest time at which the user may have authenticated, by this server's clock. In milliseconds since 1970;
   * null if the IdP sends no authentication time.
   */
  readonly authenticatedAt: number | null
  /** The combined claims of ID token and UserInfo. If both contain a claim, the ID token wins, because it is signed. */
  readonly claims: Claims
  /**
   * The error of a failed UserInfo request. Claims may then be missing. Null if the request succeeded or was not
   * necessary.
   */
  readonly userInfoFailure: LoginError | null
  /** A secret. Must never be logged. */
  readonly idToken: string
  /** The access token, which is a secret. Null if the flow issues none. */
  readonly accessToken: string | null
  /**
   * The scopes that the IdP granted. Null if the IdP does not name them, which means that it granted all requested ones
   * (RFC 6749, section 5.1).
   */
  readonly grantedScopes: readonly string[] | null
  /**
   * The tokens that a session must store for renewal, introspection or revocation. Null if the IdP offers none of
   * these.
   */
  readonly tokens: Tokens | null
}

/**
 * Verifies an authorization response and redeems it at the IdP.
 *
 * @throws LoginError
 */
export type Redeem = (answer: OpenedAnswer, transaction: Transaction) => Promise<Redeemed>

export interface RedeemDeps extends ExchangeDeps {
  readonly issuer: Issuer
  /** The claims that a login reads. If the ID token has all of them, UserInfo is not requested. */
  readonly claims: readonly string[]
}

export function createRedeem(settings: DomainSettings, deps: RedeemDeps): Redeem {
  const { client } = settings

  async function userInfo(metadata: oidc.ServerMetadata, accessToken: string, idClaims: oidc.IDToken) {
    if (deps.claims.every((name) => claimAt(idClaims, name) !== undefined)) return NOT_NEEDED
    const config = deps.newConfiguration(metadata)
    // By default, the library relies on TLS. With this setting, it also verifies the signatures of UserInfo answers.
    oidc.enableNonRepudiationChecks(config)
    const proof = await proofFor(deps.dpop, config)
    return askUserInfo(() => oidc.fetchUserInfo(config, accessToken, idClaims.sub, proof), idClaims, settings)
  }

  return async (answer, transaction) => {
    const metadata = await deps.issuer.metadata()
    const exchanged = await exchangeAnswer(answer, { transaction, metadata, settings, deps }).catch(
      (error: unknown) => {
        throw explainScopes(translateLoginFault(error, client), deps.scopes)
      },
    )
    const { claims, tokens, requestedAt } = exchanged
    const nowS = deps.now() / 1000
    const objection = objectionToIdToken(claims, client.client_id, nowS)
    if (objection) throw objectedIdToken(objection, claims, nowS)
    assertAcr(claims, settings.custom.requiredAcr)
    const accessToken = tokens?.access ?? null
    if (accessToken !== null) assertAccessToken(accessToken, claims, settings)
    const added = accessToken && metadata.userinfo_endpoint ? await userInfo(metadata, accessToken, claims) : NOT_NEEDED
    return {
      issuer: metadata.issuer,
      subject: claims.sub,
      sid: typeof claims.sid === 'string' ? claims.sid : null,
      authenticatedAt: requestedAt === null ? null : authenticatedAt(claims, requestedAt),
      claims: { ...added.claims, ...claims },
      userInfoFailure: added.failure,
      idToken: exchanged.idToken,
      accessToken,
      grantedScopes: exchanged.grantedScopes,
      tokens: tokens?.refresh || metadata.introspection_endpoint || metadata.revocation_endpoint ? tokens : null,
    }
  }
}

/**
 * Checks the `acr` of the ID token. UserInfo is ignored, because it does not describe a login. Source: OpenID Connect
 * Core 1.0, section 2.
 */
function assertAcr({ acr }: Claims, required: readonly string[]): void {
  if (required.length === 0 || required.some((accepted) => accepted === acr)) return
  throw new LoginError('acr_missing', { details: { acr: typeof acr === 'string' ? acr : null, required } })
}

function assertAccessToken(accessToken: string, idClaims: Claims, { client, credentials }: DomainSettings): void {
  const reason =
    objectionToTokenHash(accessToken, idClaims, client.id_token_signed_response_alg) ??
    (credentials.certificate ? objectionToBinding(accessToken, credentials.certificate.thumbprint) : undefined)
  if (reason) throw new LoginError('access_token_invalid', { details: { reason } })
}
