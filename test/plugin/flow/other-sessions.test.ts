import { expect } from 'chai'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { hearSessionIds } from '../../support/session-ids.ts'
import { type Setup, type SetupOptions, setups } from '../../support/sign-in-setup.ts'

describe('a logout of one session that the IdP tells of, and the other sessions of the person,', () => {
  const start = setups()

  const signedIn = async ({ signIn }: Setup, name?: string) => (await signIn(name)).person
  /** The person signs out at the IdP itself, of everything in that browser. */
  const logOutAtIdp = async ({ idp }: Setup, person: ScriptedBrowser) => {
    const page = await person.get(`${idp.issuer}/session/end`)
    await person.submit(page.forms[0]!, {}, 'Yes, sign me out')
  }
  const questions = (setup: Setup) => setup.idp.requests('introspection')
  /** Three sessions of one person, and one of somebody else. The IdP tells of nothing by itself. */
  const startWithThree = async (options: SetupOptions = {}) => {
    const setup = await start(options)
    const sids = await hearSessionIds(setup)
    const first = await signedIn(setup)
    const [sid = ''] = sids
    const [second, third] = [await signedIn(setup), await signedIn(setup)]
    const other = await signedIn(setup, 'bob')
    const tellOf = async (changes: object = {}) => {
      const token = await setup.idp.logoutToken({ clientId: 'mesh', sub: 'u-1001', sid, ...changes })
      const body = new URLSearchParams({ logout_token: token })
      return fetch(`${setup.host.url}auth-oidc-backchannel-logout`, { method: 'POST', body })
    }
    const signedInNow = () => Promise.all([first, second, third, other].map(setup.isIn))
    return { setup, second, tellOf, signedInNow }
  }

  for (const [what, changes] of [
    ['', {}],
    [', where the IdP does not say whose they are', { sub: undefined }],
  ] as const) {
    // Shows: plugin 9.9, 9.29.
    it(`end before it is answered where the IdP has ended them as well, and no other${what}`, async () => {
      const { setup, second, tellOf, signedInNow } = await startWithThree()
      // An answer of a moment ago says nothing of now.
      expect(JSON.parse((await second.step(`${setup.host.url}api/session`)).body).state).to.equal('active')
      await logOutAtIdp(setup, second)
      expect(await signedInNow()).to.deep.equal([true, true, true, true])
      expect((await tellOf(changes)).status).to.equal(200)
      expect(await signedInNow()).to.deep.equal([false, false, true, true])
      expect(setup.lines('session-ended').map(({ level, fields }) => ({ level, fields }))).to.deep.equal([
        { level: 'info', fields: { user: '~oidc:u-1001' } },
      ])
    })
  }

  it('are not asked about where all were ended, and where there is no endpoint for it', async () => {
    const { setup, tellOf } = await startWithThree()
    expect((await tellOf({ sid: undefined })).status).to.equal(200)
    expect(questions(setup)).to.equal(0)
    const without = await startWithThree({ publishes: { introspection_endpoint: undefined } })
    expect((await without.tellOf()).status).to.equal(200)
    expect(await without.signedInNow()).to.deep.equal([false, true, true, true])
    expect(questions(without.setup)).to.equal(0)
  })

  it('go on where the IdP fails, at one line that says why', async () => {
    const { setup, tellOf, signedInNow } = await startWithThree()
    setup.idp.faults.set('introspection', { kind: 'answer', status: 500, body: '{"error":"server_error"}' })
    expect((await tellOf()).status).to.equal(200)
    expect(await signedInNow()).to.deep.equal([false, true, true, true])
    expect(setup.lines('session-check-failed')).to.have.length(1)
    expect(setup.lines('session-ended')).to.deep.equal([])
  })

  // Shows: plugin 9.9.
  it('let the IdP wait for no more than 4 s', async () => {
    const { setup, tellOf, signedInNow } = await startWithThree()
    setup.idp.faults.set('introspection', { kind: 'hang' })
    const answer = tellOf()
    while (questions(setup) === 0) await new Promise(setImmediate)
    await setup.clock.pass(4_000)
    expect((await answer).status).to.equal(200)
    expect(await signedInNow()).to.deep.equal([false, true, true, true])
    setup.idp.faults.clear('introspection')
  })
})
