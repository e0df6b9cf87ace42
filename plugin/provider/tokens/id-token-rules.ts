import type { Claims } from '../../login/profile.ts'

const MAX_AGE_S = 10 * 60
const MAX_AHEAD_S = 60

/** Objections to a token with an issue time (`iat`) that does not fit this server's clock. */
export const ISSUED_LONG_AGO = 'iat is more than 10 minutes ago'
export const ISSUED_AHEAD = 'iat is more than a minute ahead'

/**
 * Checks the rules that openid-client does not. Source: OpenID Connect Core 1.0, section 3.1.3.7, steps 4, 5 and 10.
 *
 * @param nowS seconds since 1970
 * @returns the objection, if any
 */
export function objectionToIdToken(claims: Claims, clientId: string, nowS: number): string | undefined {
  const { iat, azp, aud } = claims
  if (typeof iat !== 'number' || !Number.isFinite(iat)) return 'iat is missing'
  // Refuse an old token, because it was not issued for this login. Refuse a token from the future, because it would
  // stay acceptable for longer than the limit.
  if (nowS - iat > MAX_AGE_S) return ISSUED_LONG_AGO
  if (iat - nowS > MAX_AHEAD_S) return ISSUED_AHEAD
  if (azp !== undefined && azp !== clientId) return 'azp names another client'
  if (Array.isArray(aud) && aud.length > 1 && azp === undefined) return 'several audiences and no azp'
  return undefined
}

/**
 * Checks the ID token that arrived through the browser together with a code. Source: OpenID Connect Core 1.0, section
 * 3.3.3.6.
 */
export function objectionToFrontToken(
  front: Claims,
  redeemed: Claims,
  clientId: string,
  nowS: number,
): string | undefined {
  if (front.sub !== redeemed.sub || front.iss !== redeemed.iss) return 'the two ID tokens describe different users'
  return objectionToIdToken(front, clientId, nowS)
}

/**
 * Checks a renewed ID token. Source: OpenID Connect Core 1.0, section 12.2.
 *
 * @param expected the claims of the previous ID token
 */
export function objectionToRenewed({ iss, sub, aud }: Claims, expected: Claims): string | undefined {
  if (iss !== expected.iss) return 'the renewed ID token is from another issuer'
  if (sub !== expected.sub) return 'the renewed ID token describes another user'
  const audience = (value: unknown) => JSON.stringify([value].flat().toSorted())
  return audience(aud) === audience(expected.aud) ? undefined : 'the renewed ID token is for another audience'
}

/**
 * Returns the earliest time at which the user may have authenticated, by this server's clock. If it is too early, a
 * logout ends too many sessions, which is safe. Source: OpenID Connect Core 1.0, section 2.
 *
 * @param claims claims of the verified ID token
 * @param requestedAt when the token was requested, in milliseconds since 1970
 * @returns milliseconds since 1970. Null if the ID token lacks one of the two times
 */
export function authenticatedAt({ auth_time: authTime, iat }: Claims, requestedAt: number): number | null {
  if (!isTime(authTime) || !isTime(iat)) return null
  // The difference does not depend on the IdP's clock. Add a second, because both times are rounded to whole seconds.
  const maxAgeS = Math.max(0, iat - authTime) + 1
  // Use `auth_time` if it is earlier, because some IdPs create tokens long before they deliver them.
  return Math.min(requestedAt - maxAgeS * 1000, authTime * 1000)
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}
