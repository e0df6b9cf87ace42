import { decodeJwt, decodeProtectedHeader } from 'jose'
import { isJsonObject } from '../../config/json/json-object.ts'
import type { Claims } from '../../login/profile.ts'

const OLDEST_S = 10 * 60
const AHEAD_S = 60
/** Of a value in the words that say what is wrong. */
const MOST_SHOWN = 80
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
  /** As it is configured. Only its server counts here: how the IdP itself spells it is for the one who knows. */
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
  if (alg !== algorithm) return `it is not signed with ${algorithm}: alg is ${shown(alg)}`
  // An ID token or an access token of a server that types them is none, whatever it claims.
  if (typ !== undefined && !(typeof typ === 'string' && /^(?:application\/)?(?:logout\+jwt|jwt)$/i.test(typ))) {
    return `typ is of another kind of token: ${shown(typ)} came, logout+jwt or JWT was expected`
  }
  return undefined
}

function objectionToTimes({ iat, exp, nbf }: Claims, nowS: number): string | undefined {
  const here = `it is ${Math.floor(nowS)} here`
  if (!isTime(iat)) return `iat is ${iat === undefined ? 'missing' : `no time: ${shown(iat)} came`}`
  if (nowS - iat > OLDEST_S) return `iat is more than 10 minutes ago: ${iat} came, ${here}`
  if (iat - nowS > AHEAD_S) return `iat is more than a minute ahead: ${iat} came, ${here}`
  // Several IdPs send none: the ten minutes are enough.
  if (exp !== undefined && !isTime(exp)) return `exp is no time: ${shown(exp)} came`
  if (exp !== undefined && exp <= nowS) return `it has expired: exp is ${exp}, ${here}`
  if (nbf !== undefined && !(isTime(nbf) && nbf - nowS <= AHEAD_S)) return `nbf is ahead: ${shown(nbf)} came, ${here}`
  return undefined
}

function readClaims(claims: Claims, { issuer, clientId }: LogoutTokenRules): Logout | string {
  const { iss, aud, events, nonce, jti, sub, sid, iat, exp } = claims
  if (!isText(iss) || !isOfServer(iss, issuer)) return objectionToIssuer(iss, issuer)
  if (aud !== clientId && !(Array.isArray(aud) && aud.includes(clientId))) {
    return `aud names another client: ${shown(aud)} came, ${shown(clientId)} was expected`
  }
  if (!isJsonObject(events) || !isJsonObject(events[EVENT])) {
    const came = isJsonObject(events) ? shown(Object.keys(events)) : kindOf(events)
    return `events does not tell of a logout: ${came} came, an object with an object ${EVENT} was expected`
  }
  // What has one may be an ID token.
  if (nonce !== undefined) return 'it has a nonce'
  if (!isText(jti)) return `jti is ${jti === undefined ? 'missing' : `no text: ${kindOf(jti)} came`}`
  if (sub === undefined && sid === undefined) return 'neither sub nor sid is there'
  if (sub !== undefined && !isText(sub)) return `sub is no text: ${kindOf(sub)} came`
  // Not as it is: a session id is a secret.
  if (sid !== undefined && !isText(sid)) return `sid is no text: ${kindOf(sid)} came`
  const refusedFromS = Math.min(isTime(exp) ? exp : Number.POSITIVE_INFINITY, Number(iat) + OLDEST_S + 1)
  return { issuer: iss, subject: sub ?? null, sid: sid ?? null, jti, refusedFromS }
}

/** What the log says of an issuer that is not the one. */
export function objectionToIssuer(came: unknown, expected: string): string {
  return `iss names another IdP: ${shown(came)} came, ${shown(expected)} was expected`
}

/**
 * That of the configured issuer; which one there it is, only discovery knows: spellings differ, with a slash at the end
 * or without.
 */
function isOfServer(iss: string, issuer: string): boolean {
  return URL.canParse(iss) && new URL(iss).origin === new URL(issuer).origin
}

/** A value from the token in a few characters; the log line has 300. */
function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  return value === ''
    ? 'an empty text'
    : value === null
      ? 'null'
      : Array.isArray(value)
        ? 'a list'
        : `a ${typeof value}`
}

function isTime(value: unknown): value is number {
  return Number.isFinite(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
