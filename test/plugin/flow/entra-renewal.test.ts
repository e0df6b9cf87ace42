import { expect } from 'chai'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { ENTRA_REFUSALS } from '../../../fixtures/idp/vendors/entra-refusals.ts'
import { readDocument, section, tableRows } from '../../support/documents.ts'
import { CLIENT, type Setup, setups } from '../../support/sign-in-setup.ts'
import { until } from '../../support/until.ts'

const TENANT = '7d2b5b3a-1111-4222-8333-123456789abc'
const EVERY_MS = 10_000
/** The time limit of a renewal in the plugin. */
const RENEWAL_LIMIT_MS = 8_000

describe('token renewal that Entra ID refuses', () => {
  const start = setups()

  async function startEntra(): Promise<Setup> {
    return start({
      exactly: ({ hostUrl }) => ({
        newAccounts: true,
        custom: { preset: 'azure', tenant_id: TENANT },
        client: { ...CLIENT, redirect_uri: `${hostUrl}auth-oidc-azure-callback` },
      }),
      registered: { grant_types: ['authorization_code', 'refresh_token'] },
      idp: { path: `/${TENANT}/v2.0`, entra: {} },
      presets: ({ issuer }) => ({ azure: { login: new URL(issuer).origin } }),
      host: { sessionCheckMs: EVERY_MS },
    })
  }
  const signedIn = async ({ signIn }: Setup, name: string) => (await signIn(name)).person
  /**
   * Uses the sessions and lets them become due until all were checked. A session that is still being renewed is
   * skipped, so one round may not suffice.
   */
  async function nextRound(setup: Setup, people: readonly ScriptedBrowser[]): Promise<void> {
    const countBefore = setup.idp.requests('token')
    await until('an answer for each', async () => {
      // Wait first, so that no pending renewal times out.
      if (setup.clock.waiting(RENEWAL_LIMIT_MS) > 0) return false
      if (setup.idp.requests('token') >= countBefore + people.length) return true
      for (const person of people) await setup.isIn(person)
      await setup.clock.advance(EVERY_MS)
      return false
    })
    await until('no renewal under way', () => setup.clock.waiting(RENEWAL_LIMIT_MS) === 0)
  }

  it('entra-id.md lists exactly the error codes that end or keep a session', () => {
    const page = readDocument('plugin/docs/providers/entra-id.md')
    const documented = tableRows(section(page, '## When a session ends')).flatMap(([, outcome, codes = '']) =>
      [...codes.matchAll(/AADSTS(\d+)/g)].map(([, code]) => [code, outcome === 'out']),
    )
    const refusals = Object.entries(ENTRA_REFUSALS).map(([code, [error]]) => [code, error === 'invalid_grant'])
    expect(documented).to.have.deep.members(refusals)
  })

  for (const number of [50057, 50076] as const) {
    const [error] = ENTRA_REFUSALS[number]
    const ends = error === 'invalid_grant'
    const outcome = ends ? 'ends' : 'keeps'
    it(`${outcome} the user's session if Entra ID answers AADSTS${number}`, async () => {
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
      expect(await setup.isIn(alice)).to.equal(!ends)
      expect(await setup.isIn(bob)).to.equal(true)
      // The user's page must not mention it.
      const page = await alice.get(setup.host.url)
      expect([page.text, page.url].join()).to.not.match(/AADSTS|invalid_grant|interaction_required/)
      await nextRound(setup, [bob])
      expect(await setup.isIn(bob)).to.equal(true)
    })
  }
})
