import { expect } from 'chai'
import { decodeJwt, SignJWT } from 'jose'
import { DEMO_USERS } from '../../../fixtures/idp/users.ts'
import { answerFromIdp, type Setup, type SetupOptions, setups } from '../../support/sign-in-setup.ts'
import { MoodyStore } from '../host/moody-store.ts'

const BOB = DEMO_USERS.find(({ username }) => username === 'bob')!
const RULES = { oidc: { groups: { required: 'mesh-users' } } }

describe('user with an account who is refused by groups.required', () => {
  const start = setups()

  const setGroups = ({ idp }: Setup, groups: unknown) => idp.setUser({ ...BOB, claims: { ...BOB.claims, groups } })
  const signIn = async (setup: Setup, name: string) => (await setup.signIn(name)).person

  /** Signs Bob in with two browsers, and Alice with one. */
  const startWithBob = async (options: SetupOptions = RULES) => {
    const setup = await start(options)
    const [first, second, alice] = [
      await signIn(setup, 'bob'),
      await signIn(setup, 'bob'),
      await signIn(setup, 'alice'),
    ]
    const signedIn = () => Promise.all([first, second, alice].map(setup.isIn))
    expect(await signedIn()).to.deep.equal([true, true, true])
    return { setup, first, signedIn }
  }

  // Shows: plugin 6.2.
  it('refusing a user ends all sessions of that user only, and logs their number once', async () => {
    const { setup, signedIn } = await startWithBob()
    setGroups(setup, ['others'])
    const refused = await signIn(setup, 'bob')
    expect(await setup.isIn(refused)).to.equal(false)
    expect(await signedIn()).to.deep.equal([false, false, true])
    expect(setup.lines('refused-user-signed-out').map(({ level, fields }) => ({ level, fields }))).to.deep.equal([
      { level: 'info', fields: { user: '~oidc:u-1002', sessions: 2 } },
    ])
    expect(setup.authLog.at(-1)?.fields).to.deep.include({ code: 'not_in_required_group', user: '~oidc:u-1002' })
    // Now no session is left to count.
    await signIn(setup, 'bob')
    expect(setup.lines('refused-user-signed-out')).to.have.length(1)
  })

  // Shows: plugin 6.12.
  it('a refused user loses site admin and mirrored groups, unless groups are unknown', async () => {
    const setup = await start({ oidc: { groups: { required: 'mesh-users', siteadmin: 'mesh-users', sync: true } } })
    await signIn(setup, 'bob')
    const { accounts, groups } = setup.host.records
    const rights = async () => [
      (await accounts.find('', '~oidc:u-1002'))?.siteAdmin,
      await groups.allOf('', '~oidc:u-1002'),
    ]
    expect(await rights()).to.deep.equal([true, ['mesh-users']])
    setGroups(setup, 5)
    await signIn(setup, 'bob')
    expect(await rights()).to.deep.equal([true, ['mesh-users']])
    setGroups(setup, ['others'])
    await signIn(setup, 'bob')
    expect(await rights()).to.deep.equal([false, []])
    expect(setup.lines('refused-user-rights-revoked').map(({ fields }) => fields)).to.deep.equal([
      { user: '~oidc:u-1002', siteAdmin: 'revoke', left: ['mesh-users'] },
    ])
  })

  // Shows: plugin 6.2.
  it('a user keeps all sessions if the groups claim of a new login is unusable', async () => {
    const { setup, signedIn } = await startWithBob()
    setGroups(setup, 5)
    await signIn(setup, 'bob')
    expect(setup.authLog.at(-1)?.fields.code).to.equal('memberships_unknown')
    expect(await signedIn()).to.deep.equal([true, true, true])
    expect(setup.lines('refused-user-signed-out')).to.deep.equal([])
  })

  // Shows: plugin 6.2.
  it('an IdP answer that fails verification ends no session of the user named in it', async () => {
    const { setup, signedIn } = await startWithBob()
    const stranger = new TextEncoder().encode('somebody else, who has a key of 32 bytes or more')
    const claims = { sub: BOB.sub, groups: [] }
    setup.idp.forgeTokens((genuine) =>
      new SignJWT({ ...decodeJwt(genuine), ...claims }).setProtectedHeader({ alg: 'HS256' }).sign(stranger),
    )
    await signIn(setup, 'alice')
    setup.idp.forgeTokens((genuine) => setup.idp.sign({ ...decodeJwt(genuine), ...claims, nonce: 'of another login' }))
    await signIn(setup, 'alice')
    setup.idp.forgeTokens()
    setGroups(setup, [])
    // Bob's own answer in another browser, where it belongs to no login.
    await setup.browser().step(await answerFromIdp(setup.browser(), setup.host.url, 'bob'))
    const codes = setup.lines('login-failed').map(({ fields }) => fields.code)
    expect(codes).to.deep.equal(['id_token_invalid', 'id_token_invalid', 'transaction_missing'])
    expect(await signedIn()).to.deep.equal([true, true, true])
  })

  it('refuses and logs a user outside groups.required even if sessions cannot be ended', async () => {
    const sessionStore = new MoodyStore()
    const { setup } = await startWithBob({ ...RULES, host: { sessionStore } })
    setGroups(setup, [])
    Object.assign(sessionStore, { mood: 'failing', only: 'all' })
    const refused = await signIn(setup, 'bob')
    expect(await setup.isIn(refused)).to.equal(false)
    expect(setup.lines('refused-user-not-signed-out').map(({ level, fields }) => [level, fields.code])).to.deep.equal([
      ['error', 'host_failed'],
    ])
    expect(setup.authLog.at(-1)?.fields.code).to.equal('not_in_required_group')
  })
})
