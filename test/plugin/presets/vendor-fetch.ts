import type { Caller } from '../../../fixtures/idp/vendors/vendor-api.ts'
import type { Memberships } from '../../../plugin/login/groups/memberships.ts'
import type { VendorFetch } from '../../../plugin/presets/vendor-api.ts'
import { type Fetch, type FetchLimits, limitFetch } from '../../../plugin/provider/http/limited-fetch.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { until as untilTrue } from '../../support/until.ts'

/** The access token of logins in these tests. Nothing that is logged may contain it. */
export const TOKEN = 'ya29.A0AfB_by-very~secret/token+0123456789=='

/**
 * Returns what presets get in the product, with the product's limits by default, but with a clock that tests advance.
 */
export function vendorAccess(limits: Partial<FetchLimits> = {}) {
  const clock = new FakeClock()
  const whole: VendorFetch = limitFetch(fetch as Fetch, { totalMs: 10_000, maxBytes: 1_000_000, ...limits }, clock)
  return { clock, fetch: whole }
}

export const namesOf = (memberships: Memberships) =>
  memberships === 'unknown' ? memberships : memberships.map(({ name }) => name)

/** Resolves once the condition holds, after all its immediate consequences. */
export async function until(isSo: () => boolean): Promise<void> {
  await untilTrue('the condition', isSo)
  await new Promise(setImmediate)
}

/** Accepts {@link TOKEN} for this caller and refuses every other token. */
export const knows = (caller: Caller) => (token: string) => (token === TOKEN ? caller : undefined)

/** Returns why memberships are unknown. Throws if they are known or if the reason quotes the token. */
export async function reasonOf(memberships: Promise<unknown>): Promise<string> {
  const outcome = await memberships.then(
    (learned) => new Error(`learned ${JSON.stringify(learned)}`),
    (error: unknown) => (error instanceof Error ? error.message : 'rejected with no error'),
  )
  if (outcome instanceof Error) throw outcome
  if (outcome.includes('secret') || outcome.includes('Bearer')) throw new Error('the reason has the token in it')
  return outcome
}
