import type { RealIdp } from './real-idp.ts'

/** Returns the provider's metadata (OpenID Connect Discovery 1.0). */
export async function discover({ issuer }: RealIdp): Promise<Readonly<Record<string, string>>> {
  const answer = await fetch(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
  return (await answer.json()) as Record<string, string>
}
