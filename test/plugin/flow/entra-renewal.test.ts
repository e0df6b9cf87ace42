import { expect } from 'chai'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { ENTRA_REFUSALS, type EntraRules } from '../../../fixtures/idp/vendors/entra-refusals.ts'
import { until } from '../../meshcentral/support/until.ts'
import { readDocument, section, tableRows } from '../../support/documents.ts'
import { CLIENT, type Setup, setups } from '../../support/sign-in-setup.ts'

const TENANT = '7d2b5b3a-1111-4222-8333-123456789abc'
const EVERY_MS = 10_000
/** Of the plugin. */
const RENEWAL_LIMIT_MS = 8_000
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

describe('a session by Entra ID', () => {
  const start = setups()

  async function startEntra(fetch = globalThis.fetch, rules: EntraRules = {}): Promise<Setup> {
    return start({
      exactly: ({ hostUrl }) => ({
        newAccounts: true,
        custom: { preset: 'azure', tenant_id: TENANT },
        client: { ...CLIENT, redirect_uri: `${hostUrl}auth-oidc-azure-callback` },
      }),
      registered: { grant_types: ['authorization_code', 'refresh_token'] },
      idp: { path: `/${TENANT}/v2.0`, entra: rules },
      presets: ({ issuer }) => ({ azure: { login: new URL(issuer).origin } }),
      host: { sessionCheckMs: EVERY_MS, fetch },
    })
  }
  const signedIn = async ({ signIn }: Setup, name: string) => (await signIn(name)).person
  /** The sessions are in use, and become due until all were asked about: one that was still being renewed was left out. */
  async function nextRound(setup: Setup, people: readonly ScriptedBrowser[]): Promise<void> {
    const asked = setup.idp.requests('token')
    await until('an answer for each', async () => {
      // No renewal that is under way is to run out of time.
      if (setup.clock.waiting(RENEWAL_LIMIT_MS) > 0) return false
      for (const person of people) await setup.isIn(person)
      await setup.clock.advance(EVERY_MS)
      return setup.idp.requests('token') >= asked + people.length
    })
    await until('no renewal under way', () => setup.clock.waiting(RENEWAL_LIMIT_MS) === 0)
  }

  it('goes on by one refresh token after the other, which it has since offline_access was asked for', async () => {
    const setup = await startEntra()
    const alice = await signedIn(setup, 'alice')
    for (let round = 1; round <= 3; round += 1) await nextRound(setup, [alice])
    expect(await setup.isIn(alice)).to.equal(true)
    expect(setup.authLog.map(({ event }) => event)).to.deep.equal(['login'])
  })

  it('goes on where the answer to a renewal was lost: a refresh token that was used stays good there', async () => {
    const answers: string[] = []
    const setup = await startEntra(async (input, init) => {
      const answer = await fetch(input, init)
      if (String(input).endsWith('/token') && answers.push(await answer.clone().text()) === 2)
        throw new TypeError('lost')
      return answer
    })
    const alice = await signedIn(setup, 'alice')
    for (let round = 1; round <= 3; round += 1) await nextRound(setup, [alice])
    expect(answers.filter((answer) => answer.includes('refresh_token'))).to.have.length(answers.length)
    expect(await setup.isIn(alice)).to.equal(true)
    expect(setup.authLog.map(({ event }) => event)).to.deep.equal(['login', 'session-check-failed'])
  })

  it('goes on past the end of its access tokens, and always has one that is good', async () => {
    const given: string[] = []
    const setup = await startEntra(async (input, init) => {
      const answer = await fetch(input, init)
      if (String(input).endsWith('/token')) given.push(JSON.parse(await answer.clone().text()).access_token)
      return answer
    })
    const alice = await signedIn(setup, 'alice')
    const isGood = async (token: string) => {
      const { status } = await fetch(`${setup.idp.issuer}/me`, { headers: { authorization: `Bearer ${token}` } })
      return status === 200
    }
    await nextRound(setup, [alice])
    setup.idp.setClockAhead(HOUR_MS - MINUTE_MS)
    expect(await Promise.all(given.map(isGood))).to.deep.equal([true, true])
    setup.idp.setClockAhead(90 * MINUTE_MS)
    await setup.clock.advance(90 * MINUTE_MS)
    await nextRound(setup, [alice])
    expect(await Promise.all(given.map(isGood))).to.deep.equal([false, false, true])
    expect(await setup.isIn(alice)).to.equal(true)
    expect(setup.authLog.map(({ event }) => event)).to.deep.equal(['login'])
  })

  for (const [what, rules, renewedAfter, lastMs, code] of [
    [
      '90 days after its tokens were renewed last',
      {},
      [90 * DAY_MS - MINUTE_MS, 90 * DAY_MS - MINUTE_MS],
      90 * DAY_MS,
      700082,
    ],
    [
      'by the sign-in frequency, however often it was renewed',
      { signInFrequencyMs: 8 * HOUR_MS },
      [4 * HOUR_MS, 4 * HOUR_MS - MINUTE_MS],
      MINUTE_MS,
      70043,
    ],
    [
      'a day after the sign-in of a single-page application, however often it was renewed',
      { spa: true },
      [12 * HOUR_MS, 12 * HOUR_MS - MINUTE_MS],
      MINUTE_MS,
      700084,
    ],
  ] as const) {
    it(`ends ${what}, with AADSTS${code}`, async () => {
      const setup = await startEntra(globalThis.fetch, rules)
      const alice = await signedIn(setup, 'alice')
      let aheadMs = 0
      const renewAfter = async (ms: number) => {
        aheadMs += ms
        setup.idp.setClockAhead(aheadMs)
        await nextRound(setup, [alice])
      }
      for (const ms of renewedAfter) await renewAfter(ms)
      expect(await setup.isIn(alice)).to.equal(true)
      await renewAfter(lastMs)
      await until('the end', async () => !(await setup.isIn(alice)))
      const [line] = setup.authLog.filter(({ event }) => event === 'session-ended')
      expect(line?.fields.errorDescription).to.match(new RegExp(`^AADSTS${code}: `))
    })
  }

  it('ends by the codes that its page says, and by no other', () => {
    const page = readDocument('plugin/docs/providers/entra-id.md')
    const told = tableRows(section(page, '## Who is out when')).flatMap(([, outcome, codes = '']) =>
      [...codes.matchAll(/AADSTS(\d+)/g)].map(([, code]) => [code, outcome === 'out']),
    )
    const refusals = Object.entries(ENTRA_REFUSALS).map(([code, [error]]) => [code, error === 'invalid_grant'])
    expect(told).to.have.deep.members(refusals)
  })

  for (const number of [50057, 50076] as const) {
    const [error] = ENTRA_REFUSALS[number]
    const ends = error === 'invalid_grant'
    it(`${ends ? 'ends' : 'goes on'} with AADSTS${number} (${error}), at a line with that code, and that of somebody else goes on`, async () => {
      const setup = await startEntra()
      const [alice, bob] = [await signedIn(setup, 'alice'), await signedIn(setup, 'bob')]
      setup.idp.refuseRenewals('alice', number)
      await nextRound(setup, [alice, bob])
      const event = ends ? 'session-ended' : 'session-check-failed'
      const lines = () => setup.authLog.filter((line) => line.event.startsWith('session-'))
      await until('the line', () => lines().length > 0)
      expect(lines().map((line) => line.event)).to.deep.equal([event])
      expect(lines()[0]?.fields).to.include({ error })
      expect(lines()[0]?.fields.errorDescription).to.match(new RegExp(`^AADSTS${number}: `))
      expect([await setup.isIn(alice), await setup.isIn(bob)]).to.deep.equal([!ends, true])
      // What the person sees has no word of it.
      const page = await alice.get(setup.host.url)
      expect([page.text, page.url].join()).to.not.match(/AADSTS|invalid_grant|interaction_required/)
      await nextRound(setup, [bob])
      expect(await setup.isIn(bob)).to.equal(true)
    })
  }
})
