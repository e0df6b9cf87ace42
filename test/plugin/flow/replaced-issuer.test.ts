import { expect } from 'chai'
import { BoundedSessionStore } from '../../../fixtures/host/session-store.ts'
import { DEMO_USERS } from '../../../fixtures/idp/users.ts'
import { type SetupOptions, setups } from '../../support/sign-in-setup.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

describe("change of a domain's issuer", () => {
  const start = setups()
  const { path } = temporaryFolder()

  /**
   * Returns a function that starts hosts as before and after a restart: they share accounts, sessions and secrets, but
   * each has its own IdP.
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
  it('after a change of issuer, sessions end and users with old accounts are refused', async () => {
    const open = restarted()
    const oldHost = await open()
    const { person } = await oldHost.signIn('alice')
    expect(await oldHost.isIn(person)).to.equal(true)
    const newHost = await open()
    expect(await newHost.isIn(person)).to.equal(false)
    const { failure, page } = await newHost.signIn('alice')
    expect(page.url).to.match(/failure=access_denied$/)
    const issuers = { remembered: oldHost.idp.issuer, issuer: newHost.idp.issuer }
    expect(failure).to.deep.include({ code: 'issuer_changed', user: '~oidc:u-1001', ...issuers })
    // Other users are not affected.
    expect((await newHost.signIn('bob')).me.status).to.equal(200)
  })

  // Shows: plugin 5.13.
  it('users keep sessions and accounts if the old issuer is in previous_issuers', async () => {
    const open = restarted()
    const oldHost = await open()
    const { person } = await oldHost.signIn('alice')
    const newHost = await open({ custom: { previous_issuers: `${oldHost.idp.issuer}/` } })
    expect(await newHost.isIn(person)).to.equal(true)
    expect((await newHost.signIn('alice')).me).to.include({ status: 200, id: '~oidc:u-1001' })
    // The account has moved to the new issuer, so without the list the old one would be refused.
    expect((await newHost.host.records.accounts.find('', '~oidc:u-1001'))?.issuer).to.equal(newHost.idp.issuer)
  })

  // Shows: plugin 5.13.
  it('a refused user also loses sessions from issuers in previous_issuers', async () => {
    const open = restarted()
    const oldHost = await open({ groups: {} })
    const { person } = await oldHost.signIn('alice')
    const newHost = await open({
      custom: { previous_issuers: [oldHost.idp.issuer] },
      groups: { required: 'nobody' },
    })
    expect(await newHost.isIn(person)).to.equal(true)
    expect((await newHost.signIn('alice')).failure).to.include({ code: 'not_in_required_group' })
    expect(await newHost.isIn(person)).to.equal(false)
  })

  // Shows: plugin 6.12.
  it('a refused user loses all sessions of the account, even those with an earlier sub', async () => {
    const open = restarted()
    const claims = { uuid: 'email' }
    const oldHost = await open({ groups: {}, custom: { claims } })
    const { person } = await oldHost.signIn('alice')
    const { person: bystander } = await oldHost.signIn('bob')
    const newHost = await open({
      custom: { claims, previous_issuers: [`${oldHost.idp.issuer}/`] },
      groups: { required: 'nobody' },
    })
    const alice = DEMO_USERS.find(({ username }) => username === 'alice')!
    newHost.idp.setUser({ ...alice, sub: 'u-1002' })
    expect((await newHost.signIn('alice')).failure).to.include({ code: 'not_in_required_group' })
    expect(await newHost.isIn(person)).to.equal(false)
    expect(await newHost.isIn(bystander)).to.equal(true)
  })
})
