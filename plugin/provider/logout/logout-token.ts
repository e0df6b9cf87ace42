import { decodeJwt, decodeProtectedHeader } from 'jose'
import { isJsonObject } from '../../config/json/json-object.ts'
import type { Claims } from '../../login/profile.ts'

const MAX_AGE_S = 10 * 60
const MAX_AHEAD_S = 60
/** Limit of the length of a received value that an objection quotes, in characters. */
const MAX_QUOTED = 80
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'

/** The content of a logout token. */
export interface Logout {
  readonly issuer: string
  /**
   * The user to sign out. If there is also a `sid`, only that session ends. Null if the token has no subject.
   */
  readonly subject: string | null
  readonly sid: string | null
  readonly jti: string
  /** When the token becomes too old to be accepted, in seconds since 1970. */
  readonly refusedFromS: number
}

export interface LogoutTokenRules {
  /** The configured issuer. Only its origin is compared here; the exact spelling is known after discovery. */
  readonly issuer: string
  readonly clientId: string
  /** The value of `id_token_signed_response_alg`, because logout tokens are signed like ID tokens. */
  readonly algorithm: string
}

/**
 * Checks a logout token, except its signature and exact issuer. Source: OpenID Connect Back-Channel Logout 1.0,
 * sections 2.4 and 2.6.
 *
 * @param nowS seconds since 1970
 * @returns the content, or the objection to the token
 */
export function inspectLogoutToken(token: string, rules: LogoutTokenRules, nowS: number): Logout | string {
  let header: Readonly<Record<string, unknown>>
  let claims: Claims
  try {
    header = decodeProtectedHeader(token)
    claims = decodeJwt(token)
  } catch {
    return 'it is not a signed JWT'
  }
  return objectionToHeader(header, rules) ?? objectionToTimes(claims, nowS) ?? readClaims(claims, rules)
}

function objectionToHeader({ alg, typ }: Readonly<Record<string, unknown>>, { algorithm }: LogoutTokenRules) {
  // Do not trust the token's own `alg`. Otherwise anyone could sign with HS256 and use the IdP's public key as the
  // secret.
  if (alg !== algorithm) return `it is not signed with ${algorithm}: alg is ${quote(alg)}`
  // A `typ` other than `logout+jwt` and `JWT` marks another kind of token, even if its claims fit a logout token.
  if (typ !== undefined && !(typeof typ === 'string' && /^(?:application\/)?(?:logout\+jwt|jwt)$/i.test(typ))) {
    return `typ belongs to another kind of token: received ${quote(typ)}, expected logout+jwt or JWT`
  }
  return undefined
}

function objectionToTimes({ iat, exp, nbf }: Claims, nowS: number): string | undefined {
  const serverTime = `this server's time is ${Math.floor(nowS)}`
  if (!isTime(iat)) return `iat is ${iat === undefined ? 'missing' : `not a time: received ${quote(iat)}`}`
  if (nowS - iat > MAX_AGE_S) return `iat is more than 10 minutes ago: received ${iat}, ${serverTime}`
  if (iat - nowS > MAX_AHEAD_S) return `iat is more than a minute ahead: received ${iat}, ${serverTime}`
  // Several IdPs send logout tokens without `exp`. The age limit of 10 minutes suffices for these tokens.
  if (exp !== undefined && !isTime(exp)) return `exp is not a time: received ${quote(exp)}`
  if (exp !== undefined && exp <= nowS) return `it has expired: exp is ${exp}, ${serverTime}`
  if (nbf !== undefined && !(isTime(nbf) && nbf - nowS <= MAX_AHEAD_S))
    return `nbf is in the future: received ${quote(nbf)}, ${serverTime}`
  return undefined
}

function readClaims(claims: Claims, { issuer, clientId }: LogoutTokenRules): Logout | string {
  const { iss, aud, events, nonce, jti, sub, sid, iat, exp } = claims
  if (!isText(iss) || !isSameOrigin(iss, issuer)) return objectionToIssuer(iss, issuer)
  if (aud !== clientId && !(Array.isArray(aud) && aud.includes(clientId))) {
    return `aud names another client: received ${quote(aud)}, expected ${quote(clientId)}`
  }
  if (!isJsonObject(events) || !isJsonObject(events[EVENT])) {
    const received = isJsonObject(events) ? quote(Object.keys(events)) : kindOf(events)
    return `events does not contain a logout: received ${received}, expected an object with an object ${EVENT}`
  }
  // Refuse a token with a nonce, because it may be an ID token.
  if (nonce !== undefined) return 'it has a nonce'
  if (!isText(jti)) return `jti is ${jti === undefined ? 'missing' : `not a non-empty string: received ${kindOf(jti)}`}`
  if (sub === undefined && sid === undefined) return 'both sub and sid are missing'
  if (sub !== undefined && !isText(sub)) return `sub is not a non-empty string: received ${kindOf(sub)}`
  // Do not quote the `sid`, because the id of a session is a secret.
  if (sid !== undefined && !isText(sid)) return `sid is not a non-empty string: received ${kindOf(sid)}`
  const refusedFromS = Math.min(isTime(exp) ? exp : Number.POSITIVE_INFINITY, Number(iat) + MAX_AGE_S + 1)
  return { issuer: iss, subject: sub ?? null, sid: sid ?? null, jti, refusedFromS }
}

/** Describes a token from another issuer, for the log. */
export function objectionToIssuer(received: unknown, expected: string): string {
  return `iss names another IdP: received ${quote(received)}, expected ${quote(expected)}`
}

/**
 * Compares origins only. The configured issuer may differ from the exact one, for example by a trailing slash. The
 * exact issuer is known only after discovery.
 */
function isSameOrigin(iss: string, issuer: string): boolean {
  return URL.canParse(iss) && new URL(iss).origin === new URL(issuer).origin
}

/** Quotes a value of the token. Shortens it, because a log line has only 300 characters. */
function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  return value === ''
    ? 'an empty string'
    : value === null
      ? 'null'
      : Array.isArray(value)
        ? 'an array'
        : typeof value === 'object'
          ? 'an object'
          : `a ${typeof value}`
}

function isTime(value: unknown): value is number {
  return Number.isFinite(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
