import { expect } from 'chai'
import { BoundedSessionStore } from '../../../fixtures/host/session-store.ts'
import { type Setup, type SetupOptions, setups } from '../../support/sign-in-setup.ts'
import { until } from '../../support/until.ts'

const EVERY_MS = 10_000
/** Each refresh token can be used once: a second renewal with it ends the session. */
const ROTATING: SetupOptions = {
  idp: { rotateRefreshTokens: true },
  registered: { grant_types: ['authorization_code', 'refresh_token'] },
}

describe('session checks of a host that keeps tokens', () => {
  const start = setups()

  const startWithStore = async () => {
    const store = new BoundedSessionStore()
    return { setup: await start({ ...ROTATING, host: { sessionStore: store, sessionCheckMs: EVERY_MS } }), store }
  }
  const signedIn = async ({ signIn }: Setup, name?: string) => (await signIn(name)).person
  const entriesOf = (store: BoundedSessionStore) =>
    new Promise<readonly string[]>((resolve) =>
      store.all((_error, sessions = {}) => resolve(Object.values(sessions).map((session) => JSON.stringify(session)))),
    )
  /** Lets a session become due and waits until the outcome of the check is stored. */
  const nextRound = async ({ clock, idp, authLog }: Setup, store: BoundedSessionStore) => {
    const [countBefore, entriesBefore, lines] = [idp.requests('token'), await entriesOf(store), authLog.length]
    await clock.advance(EVERY_MS)
    await until('the IdP was asked', () => idp.requests('token') > countBefore)
    await until(
      'the answer was written',
      async () => authLog.length > lines || String(await entriesOf(store)) !== String(entriesBefore),
    )
  }

  // Shows: plugin 9.15.
  it('each round of session checks renews the tokens of each session in use once', async () => {
    const { setup, store } = await startWithStore()
    const person = await signedIn(setup)
    for (let round = 1; round <= 3; round += 1) {
      expect(await setup.isIn(person)).to.equal(true)
      await nextRound(setup, store)
      expect(setup.idp.requests('token')).to.equal(1 + round)
    }
    expect(JSON.parse((await person.step(`${setup.host.url}api/session`)).body).state).to.equal('active')
    // The session has not been used since.
    const countBefore = setup.idp.requests('token')
    await nextRound(setup, store)
    await setup.clock.advance(10 * EVERY_MS)
    expect(setup.idp.requests('token')).to.equal(countBefore + 1)
  })

  // Shows: plugin 9.15.
  it('tokens are stored encrypted, separately from the session, and deleted at logout', async () => {
    const { setup, store } = await startWithStore()
    const person = await signedIn(setup)
    const entries = await entriesOf(store)
    expect(entries).to.have.length(2)
    expect(String(entries)).to.not.match(/eyJ|"(access|refresh)"/)
    await person.step(`${setup.host.url}logout`)
    expect(await entriesOf(store)).to.deep.equal([])
  })

  it('after a renewal, logout uses the new ID token as hint and revokes the new tokens', async () => {
    const { setup, store } = await startWithStore()
    const person = await signedIn(setup)
    await nextRound(setup, store)
    const { headers, body } = await person.step(`${setup.host.url}logout`)
    expect(`${headers.location} ${body}`).to.include('id_token_hint')
    expect(setup.idp.requests('revocation')).to.equal(1)
  })
})
