import type { Claims } from '../../login/profile.ts'

const OLDEST_S = 10 * 60
const AHEAD_S = 60

/**
 * What the protocol leaves to the client to judge in an ID token whose signature, issuer, audience, nonce and expiry are in order.
 * Source: OpenID Connect Core 1.0, section 3.1.3.7, steps 4, 5 and 10.
 *
 * @param nowS seconds since 1970
 * @returns what is wrong, or undefined
 */
export function objectionToIdToken(claims: Claims, clientId: string, nowS: number): string | undefined {
  const { iat, azp, aud } = claims
  if (typeof iat !== 'number' || !Number.isFinite(iat)) return 'iat is missing'
  // A token from long ago was not issued for this login; one from ahead outlives its own limit.
  if (nowS - iat > OLDEST_S) return 'iat is more than 10 minutes ago'
  if (iat - nowS > AHEAD_S) return 'iat is more than a minute ahead'
  if (azp !== undefined && azp !== clientId) return 'azp names another client'
  if (Array.isArray(aud) && aud.length > 1 && azp === undefined) return 'several audiences and no azp'
  return undefined
}

/**
 * The same for the ID token that the browser brought beside a code: it is judged alike, and speaks of the same person as the one that the
 * code was redeemed for. Source: OpenID Connect Core 1.0, section 3.3.3.6.
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
