import { expect } from 'chai'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { ENTRA_REFUSALS } from '../../../fixtures/idp/vendors/entra-refusals.ts'
import { readDocument, section, tableRows } from '../../support/documents.ts'
import { CLIENT, type Setup, setups } from '../../support/sign-in-setup.ts'
import { until } from '../../support/until.ts'

const TENANT = '7d2b5b3a-1111-4222-8333-123456789abc'
const EVERY_MS = 10_000
/** Of the plugin. */
const RENEWAL_LIMIT_MS = 8_000

describe('a session by Entra ID', () => {
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
   * The sessions are in use, and become due until all were asked about: one that was still being renewed was left out.
   */
  async function nextRound(setup: Setup, people: readonly ScriptedBrowser[]): Promise<void> {
    const asked = setup.idp.requests('token')
    await until('an answer for each', async () => {
      // No renewal that is under way is to run out of time.
      if (setup.clock.waiting(RENEWAL_LIMIT_MS) > 0) return false
      if (setup.idp.requests('token') >= asked + people.length) return true
      for (const person of people) await setup.isIn(person)
      await setup.clock.advance(EVERY_MS)
      return false
    })
    await until('no renewal under way', () => setup.clock.waiting(RENEWAL_LIMIT_MS) === 0)
  }

  it('ends by the codes that its page says, and by no other', () => {
    const page = readDocument('plugin/docs/providers/entra-id.md')
    const told = tableRows(section(page, '## When a session ends')).flatMap(([, outcome, codes = '']) =>
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
