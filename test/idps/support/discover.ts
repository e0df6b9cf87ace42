import type { RealIdp } from './real-idp.ts'

/** What the provider publishes of itself (OpenID Connect Discovery 1.0), as texts. */
export async function discover({ issuer }: RealIdp): Promise<Readonly<Record<string, string>>> {
  const answer = await fetch(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
  return (await answer.json()) as Record<string, string>
}
