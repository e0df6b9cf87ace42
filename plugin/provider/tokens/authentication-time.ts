import type { Claims } from '../../login/profile.ts'

/**
 * When the person authenticated at the IdP, by this server's clock, and rather too early than too late: whoever ended all sessions of a
 * person before then did not mean this login. Its age is told by the two times of the IdP, whose clock may be any; `auth_time` itself
 * bounds it for IdPs whose tokens were made long before they are fetched.
 * Source: OpenID Connect Core 1.0, section 2.
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
