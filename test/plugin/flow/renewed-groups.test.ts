import { expect } from 'chai'
import { BoundedSessionStore } from '../../../fixtures/host/session-store.ts'
import { DEMO_USERS } from '../../../fixtures/idp/users.ts'
import { type Setup, setups } from '../../support/sign-in-setup.ts'
import { until } from '../../support/until.ts'

const EVERY_MS = 10_000
const BOB = DEMO_USERS.find(({ username }) => username === 'bob')!
const ID = '~oidc:u-1002'

describe('groups in a renewed ID token', () => {
  const start = setups()

  const startWithBob = async (claimsIn: 'id_token' | 'userinfo' = 'id_token') => {
    const store = new BoundedSessionStore()
    const setup = await start({
      idp: { rotateRefreshTokens: true, claimsIn },
      registered: { grant_types: ['authorization_code', 'refresh_token'] },
      oidc: { groups: { required: 'mesh-users', siteadmin: 'chiefs', sync: true } },
      host: { sessionStore: store, sessionCheckMs: EVERY_MS },
    })
    setGroups(setup, ['mesh-users', 'chiefs'])
    const { person } = await setup.signIn('bob')
    expect(await account(setup)).to.deep.equal([true, ['chiefs', 'mesh-users']])
    return { setup, person, store }
  }
  const setGroups = ({ idp }: Setup, groups: unknown) => idp.setUser({ ...BOB, claims: { ...BOB.claims, groups } })
  const account = async ({ host }: Setup) => {
    const { accounts, groups } = host.records
    return [(await accounts.find('', ID))?.siteAdmin, (await groups.allOf('', ID)).toSorted()]
  }
  /** Lets the sessions become due and waits until the IdP has renewed them. */
  const renew = async ({ clock, idp }: Setup) => {
    const countBefore = idp.requests('token')
    await clock.advance(EVERY_MS)
    await until('a renewal', () => idp.requests('token') > countBefore)
  }

  const entriesOf = (store: BoundedSessionStore) =>
    new Promise<string>((resolve) => store.all((_error, sessions) => resolve(JSON.stringify(sessions))))

  // Shows: plugin 9.12.
  it('a user loses all sessions and rights if the renewed groups are not admitted', async () => {
    const { setup, person } = await startWithBob()
    const elsewhere = (await setup.signIn('bob')).person
    const bystander = (await setup.signIn('alice')).person
    setGroups(setup, ['others'])
    for (const browser of [person, elsewhere, bystander]) expect(await setup.isIn(browser)).to.equal(true)
    await renew(setup)
    await until('the line', () => setup.lines('refused-user-rights-revoked').length > 0)
    expect(await Promise.all([person, elsewhere, bystander].map(setup.isIn))).to.deep.equal([false, false, true])
    expect(setup.lines('refused-user-signed-out').map(({ fields }) => fields)).to.deep.equal([
      { user: ID, sessions: 2 },
    ])
    expect(await account(setup)).to.deep.equal([false, []])
  })

  // Shows: plugin 9.12.
  it('renewed groups that admit the user update site admin and mirrored groups', async () => {
    const { setup, person } = await startWithBob()
    setGroups(setup, ['mesh-users', 'newcomers'])
    await renew(setup)
    await until('the line', () => setup.lines('renewed-groups').length > 0)
    expect(setup.lines('renewed-groups').map(({ fields }) => fields)).to.deep.equal([
      { user: ID, siteAdmin: 'revoke', joined: ['newcomers'], left: ['chiefs'] },
    ])
    expect(await account(setup)).to.deep.equal([false, ['mesh-users', 'newcomers']])
    expect(await setup.isIn(person)).to.equal(true)
  })

  for (const [condition, claimsIn, groups] of [
    ['without the groups claim', 'userinfo', ['others']],
    ['with a groups claim of an unusable type', 'id_token', 5],
  ] as const) {
    // Shows: plugin 9.12.
    it(`a token renewal ${condition} changes no groups or rights`, async () => {
      const { setup, person, store } = await startWithBob(claimsIn)
      setGroups(setup, groups)
      for (const _ of [1, 2]) {
        expect(await setup.isIn(person)).to.equal(true)
        const entriesBefore = await entriesOf(store)
        await renew(setup)
        await until('the tokens are written', async () => (await entriesOf(store)) !== entriesBefore)
      }
      expect(await setup.isIn(person)).to.equal(true)
      expect(await account(setup)).to.deep.equal([true, ['chiefs', 'mesh-users']])
    })
  }
})
