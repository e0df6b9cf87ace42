import { decodeJwt, decodeProtectedHeader } from 'jose'
import type { Claims } from '../../login/profile.ts'
import { isSameIssuer } from '../issuer/issuer-name.ts'

const OLDEST_S = 10 * 60
const AHEAD_S = 60
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'

/** What a logout token says. */
export interface Logout {
  readonly issuer: string
  /** All sessions of this subject, or with a `sid` that one only. */
  readonly subject: string | null
  readonly sid: string | null
  readonly jti: string
  /** Seconds since 1970: from then on the token is refused in any case. */
  readonly refusedFromS: number
}

export interface LogoutTokenRules {
  /** As it is configured; its spelling makes no difference here, and is for the one who knows the IdP's own. */
  readonly issuer: string
  readonly clientId: string
  /** `id_token_signed_response_alg`; logout tokens are signed like ID tokens. */
  readonly algorithm: string
}

/**
 * Everything that can be told of a logout token without its issuer's keys. What passes here may still be anybody's.
 * Source: OpenID Connect Back-Channel Logout 1.0, sections 2.4 and 2.6.
 *
 * @param nowS seconds since 1970
 * @returns what it says, or what is wrong
 */
export function inspectLogoutToken(token: string, rules: LogoutTokenRules, nowS: number): Logout | string {
  let header: Readonly<Record<string, unknown>>
  let claims: Claims
  try {
    header = decodeProtectedHeader(token)
    claims = decodeJwt(token)
  } catch {
    return 'it is no signed JWT'
  }
  return objectionToHeader(header, rules) ?? objectionToTimes(claims, nowS) ?? readClaims(claims, rules)
}

function objectionToHeader({ alg, typ }: Readonly<Record<string, unknown>>, { algorithm }: LogoutTokenRules) {
  // Never by what the token itself says: with a public key as the secret, anybody can sign by HS256.
  if (alg !== algorithm) return `it is not signed with ${algorithm}`
  // An ID token or an access token of a server that types them is none, whatever it claims.
  if (typ !== undefined && !(typeof typ === 'string' && /^(?:application\/)?(?:logout\+jwt|jwt)$/i.test(typ))) {
    return 'typ is of another kind of token'
  }
  return undefined
}

function objectionToTimes({ iat, exp, nbf }: Claims, nowS: number): string | undefined {
  if (!isTime(iat)) return 'iat is missing'
  if (!isTime(exp)) return 'exp is missing'
  if (nowS - iat > OLDEST_S) return 'iat is more than 10 minutes ago'
  if (iat - nowS > AHEAD_S) return 'iat is more than a minute ahead'
  if (exp <= nowS) return 'it has expired'
  if (nbf !== undefined && !(isTime(nbf) && nbf - nowS <= AHEAD_S)) return 'nbf is ahead'
  return undefined
}

function readClaims(claims: Claims, { issuer, clientId }: LogoutTokenRules): Logout | string {
  const { iss, aud, events, nonce, jti, sub, sid, iat, exp } = claims
  if (!isText(iss) || !isSameIssuer(issuer, iss)) return 'iss names another IdP'
  if (aud !== clientId && !(Array.isArray(aud) && aud.includes(clientId))) return 'aud names another client'
  if (!isObject(events) || !isObject(events[EVENT])) return 'events does not tell of a logout'
  // What has one may be an ID token.
  if (nonce !== undefined) return 'it has a nonce'
  if (!isText(jti)) return 'jti is missing'
  if (sub === undefined && sid === undefined) return 'neither sub nor sid is there'
  if ((sub !== undefined && !isText(sub)) || (sid !== undefined && !isText(sid))) return 'sub or sid is no text'
  const refusedFromS = Math.min(Number(exp), Number(iat) + OLDEST_S + 1)
  return { issuer: iss, subject: sub ?? null, sid: sid ?? null, jti, refusedFromS }
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
