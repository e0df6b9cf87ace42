import type { Claims } from '../../login/profile.ts'

const OLDEST_S = 10 * 60
const AHEAD_S = 60

/** What is wrong with a token whose time does not fit this server's clock. */
export const ISSUED_LONG_AGO = 'iat is more than 10 minutes ago'
export const ISSUED_AHEAD = 'iat is more than a minute ahead'

/**
 * What the protocol leaves to the client to judge in an ID token whose signature, issuer, audience, nonce and expiry
 * are in order. Source: OpenID Connect Core 1.0, section 3.1.3.7, steps 4, 5 and 10.
 *
 * @param nowS seconds since 1970
 * @returns what is wrong, or undefined
 */
export function objectionToIdToken(claims: Claims, clientId: string, nowS: number): string | undefined {
  const { iat, azp, aud } = claims
  if (typeof iat !== 'number' || !Number.isFinite(iat)) return 'iat is missing'
  // A token from long ago was not issued for this login; one from ahead outlives its own limit.
  if (nowS - iat > OLDEST_S) return ISSUED_LONG_AGO
  if (iat - nowS > AHEAD_S) return ISSUED_AHEAD
  if (azp !== undefined && azp !== clientId) return 'azp names another client'
  if (Array.isArray(aud) && aud.length > 1 && azp === undefined) return 'several audiences and no azp'
  return undefined
}

/**
 * The same for the ID token that the browser brought beside a code: it is judged alike, and speaks of the same person
 * as the one that the code was redeemed for. Source: OpenID Connect Core 1.0, section 3.3.3.6.
 */
export function objectionToFrontToken(
  front: Claims,
  redeemed: Claims,
  clientId: string,
  nowS: number,
): string | undefined {
  if (front.sub !== redeemed.sub || front.iss !== redeemed.iss) return 'the two ID tokens are of different persons'
  return objectionToIdToken(front, clientId, nowS)
}

/**
 * The same for an ID token that came with renewed tokens: it speaks of the same person, by the same IdP, for the same
 * client. Source: OpenID Connect Core 1.0, section 12.2.
 *
 * @param expected of the ID token before
 */
export function objectionToRenewed({ iss, sub, aud }: Claims, expected: Claims): string | undefined {
  if (iss !== expected.iss) return 'the renewed ID token is of another issuer'
  if (sub !== expected.sub) return 'the renewed ID token is of another person'
  const audience = (of: unknown) => JSON.stringify([of].flat().toSorted())
  return audience(aud) === audience(expected.aud) ? undefined : 'the renewed ID token is for another audience'
}

/**
 * When the person authenticated at the IdP, by this server's clock, and rather too early than too late: whoever ended
 * all sessions of a person before then did not mean this login. Its age is told by the two times of the IdP, whose
 * clock may be any; `auth_time` itself bounds it for IdPs whose tokens were made long before they are fetched. Source:
 * OpenID Connect Core 1.0, section 2.
 *
 * @param claims of the verified ID token
 * @param askedAt when that was asked for at the token endpoint. Milliseconds since 1970
 * @returns milliseconds since 1970; null where the IdP does not say
 */
export function authenticatedAt({ auth_time: authTime, iat }: Claims, askedAt: number): number | null {
  if (!isTime(authTime) || !isTime(iat)) return null
  // Both are in whole seconds.
  const mostAgeS = Math.max(0, iat - authTime) + 1
  return Math.min(askedAt - mostAgeS * 1000, authTime * 1000)
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}
