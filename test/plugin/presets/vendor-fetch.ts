import type { Caller } from '../../../fixtures/idp/vendors/vendor-api.ts'
import { type FetchLimits, guardFetch } from '../../../plugin/provider/http/guarded-fetch.ts'

/** What a login brings in these tests. Nothing that is logged may have it in it. */
export const TOKEN = 'ya29.A0AfB_by-very~secret/token+0123456789=='

/** The `fetch` that presets are given in the product, with the product's limits unless told otherwise. */
export function vendorFetch(limits: Partial<FetchLimits> = {}) {
  return guardFetch((url, init) => fetch(url, init as RequestInit), {
    totalMs: 10_000,
    maxBytes: 1_000_000,
    ...limits,
  })
}

/** {@link TOKEN} speaks for this caller; every other token is worth nothing. */
export const knows = (caller: Caller) => (token: string) => (token === TOKEN ? caller : undefined)

/** Why memberships could not be learned; fails when they could, or when the reason quotes the token. */
export async function reasonOf(memberships: Promise<unknown>): Promise<string> {
  const outcome = await memberships.then(
    (learned) => new Error(`learned ${JSON.stringify(learned)}`),
    (error: unknown) => (error instanceof Error ? error.message : 'rejected with no error'),
  )
  if (outcome instanceof Error) throw outcome
  if (outcome.includes('secret') || outcome.includes('Bearer')) throw new Error('the reason has the token in it')
  return outcome
}
