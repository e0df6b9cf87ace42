import { expect } from 'chai'
import { BoundedSessionStore } from '../../../fixtures/host/session-store.ts'
import { DEMO_USERS } from '../../../fixtures/idp/users.ts'
import { type SetupOptions, setups } from '../../support/sign-in-setup.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

describe('a host whose issuer is replaced', () => {
  const start = setups()
  const { path } = temporaryFolder()

  /**
   * Hosts that share accounts, sessions and secrets, as one has before and after a restart; each has an IdP of its own.
   */
  const restarted = () => {
    const sessionStore = new BoundedSessionStore()
    return (oidc: SetupOptions['oidc'] = {}) =>
      start({
        oidc,
        settings: { sqlite3: path('host.sqlite'), sessionKey: 'a key that outlives the restart of a host' },
        host: { sessionStore, cookieName: 'host' },
      })
  }

  // Shows: plugin 5.13, 8.6.
  it('ends sessions of the old issuer, and refuses its accounts to the new issuer', async () => {
    const open = restarted()
    const before = await open()
    const { person } = await before.signIn('alice')
    expect(await before.isIn(person)).to.equal(true)
    const after = await open()
    expect(await after.isIn(person)).to.equal(false)
    const { failure, page } = await after.signIn('alice')
    expect(page.url).to.match(/failure=access_denied$/)
    const issuers = { remembered: before.idp.issuer, issuer: after.idp.issuer }
    expect(failure).to.deep.include({ code: 'issuer_changed', user: '~oidc:u-1001', ...issuers })
    // Nobody else is concerned.
    expect((await after.signIn('bob')).who.status).to.equal(200)
  })

  // Shows: plugin 5.13.
  it('goes on with sessions and accounts of an issuer that previous_issuers lists', async () => {
    const open = restarted()
    const before = await open()
    const { person } = await before.signIn('alice')
    const after = await open({ custom: { previous_issuers: `${before.idp.issuer}/` } })
    expect(await after.isIn(person)).to.equal(true)
    expect((await after.signIn('alice')).who).to.include({ status: 200, id: '~oidc:u-1001' })
    // The account has moved: without the list the old issuer is another one now.
    expect((await after.host.records.accounts.find('', '~oidc:u-1001'))?.issuer).to.equal(after.idp.issuer)
  })

  // Shows: plugin 5.13.
  it('ends the sessions of a refused user from previous issuers too', async () => {
    const open = restarted()
    const before = await open({ groups: {} })
    const { person } = await before.signIn('alice')
    const after = await open({
      custom: { previous_issuers: [before.idp.issuer] },
      groups: { required: 'nobody' },
    })
    expect(await after.isIn(person)).to.equal(true)
    expect((await after.signIn('alice')).failure).to.include({ code: 'not_in_required_group' })
    expect(await after.isIn(person)).to.equal(false)
  })

  // Shows: plugin 6.12.
  it('ends sessions of a refused account from when its user was another subject', async () => {
    const open = restarted()
    const claims = { uuid: 'email' }
    const before = await open({ groups: {}, custom: { claims } })
    const { person } = await before.signIn('alice')
    const { person: other } = await before.signIn('bob')
    const after = await open({
      custom: { claims, previous_issuers: [`${before.idp.issuer}/`] },
      groups: { required: 'nobody' },
    })
    const alice = DEMO_USERS.find(({ username }) => username === 'alice')!
    after.idp.setUser({ ...alice, sub: 'u-1002' })
    expect((await after.signIn('alice')).failure).to.include({ code: 'not_in_required_group' })
    expect([await after.isIn(person), await after.isIn(other)]).to.deep.equal([false, true])
  })
})
