import { expect } from 'chai'
import { DEMO_USERS } from '../../../fixtures/idp/users.ts'
import type { Host } from '../../../plugin/index.ts'
import { type SetupOptions, setups } from '../../support/sign-in-setup.ts'

const BOB = DEMO_USERS.find(({ username }) => username === 'bob')!
const [OID, SUB] = ['~oidc:D-7', '~oidc:u-1002']

describe('user who has an account under another id', () => {
  const start = setups()
  /** Starts a host that identifies users by `oid`, which only the ID token has, as with Entra ID. */
  async function startKnownByOid(
    options: SetupOptions['oidc'] = {},
    existingIds: Parameters<Host['accounts']['create']>[1]['id'][] = [],
  ) {
    const custom = { scope: 'openid profile email directory', claims: { uuid: 'oid' } }
    const setup = await start({ oidc: { custom, ...options }, idp: { scopes: { directory: ['oid'] } } })
    setup.idp.setUser({ ...BOB, claims: { ...BOB.claims, oid: 'D-7' } })
    for (const id of existingIds) {
      await setup.host.records.accounts.create('', { id, name: 'Bob', email: null, emailVerified: null })
    }
    return setup
  }

  // Shows: plugin 5.3.
  it('warns with a remedy if sub matches an account but the configured claim does not', async () => {
    const setup = await startKnownByOid({ newAccounts: false }, ['~oidc:u-1002'])
    const { page, failure } = await setup.signIn('bob')
    const [warning, ...more] = setup.lines('account-under-other-id')
    expect(more).to.deep.equal([])
    expect(warning).to.deep.include({ level: 'warn', domain: '', fields: { user: OID, otherAccount: SUB } })
    expect(warning?.message).to.match(/write `"uuid": "sub"` into `custom\.claims`\.$/)
    expect(failure).to.include({ code: 'account_unknown', user: OID, otherAccount: SUB })
    expect(setup.lines('login-failed')[0]?.message).to.equal(warning?.message)
    const [status] = setup.host.status()
    expect(status?.refusals[0]?.remedy).to.equal(warning?.message)
    const expected = { event: 'account-under-other-id', times: 1, account: OID, otherAccount: SUB }
    expect(status?.loginWarnings[0]).to.deep.include(expected)
    // A stranger without an account reads the same text.
    const stranger = await setup.signIn('carol')
    expect(stranger.failure).to.include({ code: 'subject_unusable' })
    setup.idp.setUser({ username: 'dora', password: 'dora-demo', sub: 'u-9', claims: { oid: 'D-9' } })
    expect((await setup.signIn('dora')).page).to.deep.include({ url: page.url, text: page.text })
  })

  // Shows: plugin 5.3.
  it('warns before creating a second account if sub already matches an account', async () => {
    const setup = await startKnownByOid({}, ['~oidc:u-1002'])
    expect((await setup.signIn('bob')).me).to.include({ status: 200, id: OID })
    expect((await setup.signIn('bob')).me).to.include({ status: 200, id: OID })
    const events = setup.authLog.map(({ event }) => event)
    expect(events).to.deep.equal(['configuration-warning', 'account-under-other-id', 'login', 'login'])
  })

  // Shows: plugin 5.3.
  it('does not warn if the configured claim matches an account, or sub matches none', async () => {
    const setup = await startKnownByOid({ newAccounts: false }, ['~oidc:D-7', '~oidc:u-1002'])
    await setup.signIn('bob')
    const empty = await startKnownByOid({ newAccounts: false })
    expect((await empty.signIn('bob')).failure).to.not.have.property('otherAccount')
    const bySub = await startKnownByOid({ custom: {}, newAccounts: false })
    await bySub.signIn('bob')
    for (const { lines } of [setup, empty, bySub]) expect(lines('account-under-other-id')).to.deep.equal([])
  })

  // Shows: plugin 5.4.
  it("a user keeps the account's name if the IdP sends no name claim", async () => {
    const setup = await start({ oidc: { custom: { scope: 'openid email' } } })
    const id = '~oidc:u-1002'
    await setup.host.records.accounts.create('', { id, name: 'Robert', email: null, emailVerified: null })
    expect((await setup.signIn('bob')).me).to.include({ status: 200, name: 'Robert', email: 'bob@example.test' })
    expect((await setup.signIn('alice')).me).to.include({ status: 200, name: 'alice@example.test' })
  })
})
