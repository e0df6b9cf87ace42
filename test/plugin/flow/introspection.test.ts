import { expect } from 'chai'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { type Setup, setups } from '../../support/sign-in-setup.ts'

describe('introspection of a session', () => {
  const start = setups()
  const signedIn = async ({ signIn }: Setup) => (await signIn()).person
  const stateOf = async (setup: Setup, person: ScriptedBrowser) =>
    JSON.parse((await person.step(`${setup.host.url}api/session`)).body).state as string

  // Shows: plugin 9.29.
  it('reports an active session, and introspects each session at most once in 10 s', async () => {
    const setup = await start()
    const [person, otherBrowser] = [await signedIn(setup), await signedIn(setup)]
    const answers = await Promise.all([1, 2, 3].map(() => stateOf(setup, person)))
    expect(answers).to.deep.equal(['active', 'active', 'active'])
    expect(await stateOf(setup, person)).to.equal('active')
    expect(setup.idp.requests('introspection')).to.equal(1)
    expect(await stateOf(setup, otherBrowser)).to.equal('active')
    expect(setup.idp.requests('introspection')).to.equal(2)
  })

  // Shows: plugin 9.29.
  it("reports a session's state as unknown if introspection and UserInfo disagree", async () => {
    const setup = await start()
    const person = await signedIn(setup)
    // Authentik answers this when the client authentication fails.
    setup.idp.faults.set('introspection', { kind: 'answer', status: 200, body: '{"active":false}' })
    expect(await stateOf(setup, person)).to.equal('unknown')
    expect(setup.lines('introspection-failed').map(({ fields }) => fields.code)).to.deep.equal(['introspection_failed'])
    expect(JSON.stringify([setup.authLog, setup.output])).to.not.match(/access_token"|eyJ/)
  })
})
