import type { Caller } from '../../../fixtures/idp/vendors/vendor-api.ts'
import type { Memberships } from '../../../plugin/login/groups/memberships.ts'
import type { VendorFetch } from '../../../plugin/presets/vendor-api.ts'
import { type Fetch, type FetchLimits, limitFetch } from '../../../plugin/provider/http/limited-fetch.ts'
import { FakeClock } from '../../support/fake-clock.ts'

/** What a login brings in these tests. Nothing that is logged may have it in it. */
export const TOKEN = 'ya29.A0AfB_by-very~secret/token+0123456789=='

/**
 * What presets are given in the product, with the product's limits unless told otherwise, but by a clock that tests
 * turn.
 */
export function vendorAccess(limits: Partial<FetchLimits> = {}) {
  const clock = new FakeClock()
  const whole: VendorFetch = limitFetch(fetch as Fetch, { totalMs: 10_000, maxBytes: 1_000_000, ...limits }, clock)
  return { clock, fetch: whole }
}

export const namesOf = (memberships: Memberships) =>
  memberships === 'unknown' ? memberships : memberships.map(({ name }) => name)

/** Once it is so; all that follows from what made it so has happened then. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate)
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
