import { expect } from 'chai'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { hearSessionIds } from '../../support/session-ids.ts'
import { type Setup, type SetupOptions, setups } from '../../support/sign-in-setup.ts'
import { until } from '../../support/until.ts'

describe('other sessions of a user at a back-channel logout', () => {
  const start = setups()

  const signedIn = async ({ signIn }: Setup, name?: string) => (await signIn(name)).person
  /** Signs out at the IdP itself, which ends its session in that browser. */
  const logOutAtIdp = async ({ idp }: Setup, person: ScriptedBrowser) => {
    const page = await person.get(`${idp.issuer}/session/end`)
    await person.submit(page.forms[0]!, {}, 'Yes, sign me out')
  }
  const introspections = (setup: Setup) => setup.idp.requests('introspection')
  /** Signs Alice in three times and Bob once. The IdP sends no logout tokens by itself. */
  const startWithThree = async (options: SetupOptions = {}) => {
    const setup = await start(options)
    const sids = await hearSessionIds(setup)
    const first = await signedIn(setup)
    const [sid = ''] = sids
    const [second, third] = [await signedIn(setup), await signedIn(setup)]
    const bystander = await signedIn(setup, 'bob')
    const sendLogout = async (changes: object = {}) => {
      const token = await setup.idp.logoutToken({ clientId: 'mesh', sub: 'u-1001', sid, ...changes })
      const body = new URLSearchParams({ logout_token: token })
      return fetch(`${setup.host.url}auth-oidc-backchannel-logout`, { method: 'POST', body })
    }
    const signedInNow = () => Promise.all([first, second, third, bystander].map(setup.isIn))
    return { setup, second, sendLogout, signedInNow }
  }

  for (const [claims, changes] of [
    ['sub and sid', {}],
    ['only sid', { sub: undefined }],
  ] as const) {
    // Shows: plugin 9.9, 9.29.
    it(`a logout token with ${claims} also ends other sessions that the IdP has ended`, async () => {
      const { setup, second, sendLogout, signedInNow } = await startWithThree()
      // This recent answer must not be reused.
      expect(JSON.parse((await second.step(`${setup.host.url}api/session`)).body).state).to.equal('active')
      await logOutAtIdp(setup, second)
      expect(await signedInNow()).to.deep.equal([true, true, true, true])
      expect((await sendLogout(changes)).status).to.equal(200)
      expect(await signedInNow()).to.deep.equal([false, false, true, true])
      expect(setup.lines('session-ended').map(({ level, fields }) => ({ level, fields }))).to.deep.equal([
        { level: 'info', fields: { user: '~oidc:u-1001' } },
      ])
    })
  }

  it('skips introspection if the logout ends all sessions, or the IdP has no endpoint', async () => {
    const { setup, sendLogout } = await startWithThree()
    expect((await sendLogout({ sid: undefined })).status).to.equal(200)
    expect(introspections(setup)).to.equal(0)
    const without = await startWithThree({ publishes: { introspection_endpoint: undefined } })
    expect((await without.sendLogout()).status).to.equal(200)
    expect(await without.signedInNow()).to.deep.equal([false, true, true, true])
    expect(introspections(without.setup)).to.equal(0)
  })

  it('if introspection fails, a back-channel logout logs that and keeps other sessions', async () => {
    const { setup, sendLogout, signedInNow } = await startWithThree()
    setup.idp.faults.set('introspection', { kind: 'answer', status: 500, body: '{"error":"server_error"}' })
    expect((await sendLogout()).status).to.equal(200)
    expect(await signedInNow()).to.deep.equal([false, true, true, true])
    expect(setup.lines('session-check-failed')).to.have.length(1)
    expect(setup.lines('session-ended')).to.deep.equal([])
  })

  // Shows: plugin 9.9.
  it('a back-channel logout is answered after at most 4 s if introspection hangs', async () => {
    const { setup, sendLogout, signedInNow } = await startWithThree()
    setup.idp.faults.set('introspection', { kind: 'hang' })
    const answer = sendLogout()
    await until('an introspection', () => introspections(setup) > 0)
    await setup.clock.pass(4_000)
    expect((await answer).status).to.equal(200)
    expect(await signedInNow()).to.deep.equal([false, true, true, true])
    setup.idp.faults.clear('introspection')
  })
})
