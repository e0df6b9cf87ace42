import { expect } from 'chai'
import { until } from '../support/until.ts'
import { linesOf } from './support/auth-log.ts'
import type { DbRecord } from './support/data-folder.ts'
import { type Person, setUpMesh, userKey } from './support/mesh-setup.ts'
import { isApp, isSignedIn, messageOn, sessionOf, signedIn, signIn } from './support/session.ts'
import { useMesh } from './support/use-mesh.ts'

const FULL = 0xffffffff

describe('accounts in MeshCentral', () => {
  const setup = useMesh({
    domains: {
      '': { oidc: { groups: { siteadmin: ['mesh-admins'] } } },
      allowed: { oidc: { newAccounts: undefined }, members: { newAccounts: true } },
      // MeshCentral's own strategies do not accept a number for true.
      number: { oidc: { newAccounts: undefined }, members: { newAccounts: 1 } },
      silent: { oidc: { newAccounts: undefined } },
      rights: {
        oidc: {
          groups: { siteadmin: 'Root', rights: { 'Help Desk': ['manageusers', 'recordings'], Guests: ['notools'] } },
        },
        members: { newAccountsRights: ['nonewgroups'] },
      },
    },
  })

  const eventsOf = (person: Person, logins: number) =>
    until('the events', async () => {
      const events = (await setup.data.events()).filter(({ userid }) => userid === userKey(person))
      return events.filter(({ action }) => action === 'login').length === logins && events
    })

  it("the domain's newAccounts applies if the oidc object has no newAccounts", async () => {
    for (const [domain, isMade] of [
      ['allowed', true],
      ['number', false],
      ['silent', false],
    ] as const) {
      const person = setup.person()
      const page = await signIn(setup, setup.browser(), person, { domain })
      expect({ isApp: isApp(page), message: messageOn(page) }, domain).to.deep.equal({
        isApp: isMade,
        message: isMade ? null : 100,
      })
      expect(await setup.hasAccount(person, domain), domain).to.equal(isMade)
    }
  })

  it('creates no account for a sub that contains script code, and logs the remedy', async () => {
    const person = { ...setup.person(), sub: `x",10);alert(1);("` }
    setup.idp.setUser({ ...person, claims: { name: person.name, ...person.claims } })
    const lines = await linesOf(setup, async () => {
      expect(messageOn(await signIn(setup, setup.browser(), person))).to.equal(108)
    })
    const [line = ''] = lines.filter((text) => text.includes('subject_unusable'))
    for (const words of ['`custom.claims.uuid`', 'delete the old one']) expect(line).to.include(words)
    expect(await setup.hasAccount(person)).to.equal(false)
  })

  it('a first login writes account and events as MeshCentral itself writes them', async () => {
    const person = setup.person({ name: 'Ada Lovelace', email: 'ada@example.test' })
    const startedAtS = Math.floor(Date.now() / 1000)
    await signedIn(setup, person)
    const { creation, login, access, ...record } = await setup.account(person)
    expect(record).to.deep.equal({
      ...{ type: 'user', _id: userKey(person), domain: '', name: 'Ada Lovelace' },
      ...{ email: 'ada@example.test', emailVerified: true, oidcissuer: setup.idp.issuer },
    })
    for (const time of [creation, login, access]) expect(time).to.be.within(startedAtS, startedAtS + 10)
    const byAction = new Map((await eventsOf(person, 1)).map((event) => [event.action, event]))
    expect([...byAction.keys()]).to.have.members(['accountcreate', 'login'])
    expect(byAction.get('accountcreate')).to.include({ etype: 'user', username: person.name, domain: '' })
    expect(byAction.get('login')).to.include({ etype: 'user', msgid: 107, twoFactorType: 'sso', ip: '127.0.0.1' })
    expect(byAction.get('login')?.msgArgs).to.have.length(3)

    await signedIn(setup, setup.person({ name: 'After A Wedding', email: 'new@example.test' }, person))
    const changed = await setup.account(person, '', ({ name }) => name === 'After A Wedding')
    expect(changed.email).to.equal('new@example.test')
  })

  it('an account id contains the sub claim unchanged, even with special characters', async () => {
    const person = { ...setup.person(), sub: 'a/b c$d.e%f|g' }
    setup.idp.setUser({ ...person, claims: { name: 'Odd' } })
    const browser = await signedIn(setup, person)
    expect((await setup.account(person))._id).to.equal('user//~oidc:a/b c$d.e%f|g')
    expect((await setup.open(browser)).user._id).to.equal('user//~oidc:a/b c$d.e%f|g')
  })

  it("a user has the rights of groups in addition to the account's own rights", async () => {
    const person = setup.person()
    for (const [groups, siteadmin] of [
      [['Help Desk', 'Guests'], 64 + 128 + 2 + 512],
      [['Guests'], 64 + 128],
      [['Root', 'Guests'], FULL],
      [[], 64],
    ] as const) {
      await signedIn(setup, setup.person({ groups: [...groups] }, person), 'rights')
      const record = await setup.account(person, 'rights', (account) => account.siteadmin === siteadmin)
      expect(record.siteadmin).to.equal(siteadmin)
    }
  })

  it('simultaneous first logins of a user create one account', async () => {
    const person = setup.person()
    const pages = await Promise.all([1, 2, 3].map(() => signIn(setup, setup.browser(), person)))
    expect(pages.map(isApp)).to.deep.equal([true, true, true])
    const creations = (await eventsOf(person, 3)).filter(({ action }) => action === 'accountcreate')
    expect(creations).to.have.length(1)
  })
})

describe('MeshCentral with the plugin installed and removed again', () => {
  // Shows: meshcentral 24.
  it('accounts and groups remain if the plugin is installed or removed', async () => {
    const oidc = { groups: { sync: true, siteadmin: ['mesh-admins'] } }
    const config = { domains: { '': { oidc }, '2': { oidc: { newAccounts: false } } } }
    const setup = await setUpMesh({ ...config, strategy: 'built-in' })
    try {
      const person = setup.person({ groups: ['mesh-admins', 'operators'] })
      const escaped = userKey(person).replaceAll('.', '%2E').replaceAll('$', '%24')
      const hasMember = (group?: DbRecord) => Object.keys((group?.links as object | undefined) ?? {}).includes(escaped)
      /** Returns all user groups by name once the person is a member of exactly those marked true. */
      const groupsWith = (members: Readonly<Record<string, boolean>>) =>
        until('the groups', async () => {
          const records = [...(await setup.data.records()).values()].filter(({ type }) => type === 'ugrp')
          const all = new Map(records.map((record) => [String(record.name), record]))
          return Object.entries(members).every(([name, expected]) => hasMember(all.get(name)) === expected) && all
        })
      const browser = setup.browser()
      await signIn(setup, browser, person)
      expect(sessionOf(browser, setup.url).userid).to.equal(userKey(person))
      const created = await setup.account(person, '', ({ siteadmin }) => siteadmin === FULL)
      const groupsBefore = await groupsWith({ operators: true, 'mesh-admins': true })

      await setup.restart({ ...config, strategy: 'ours' })
      // A session of the built-in strategy could not be ended by the IdP, so it does not survive.
      expect(await isSignedIn(setup, browser)).to.equal(false)
      expect(
        isApp(await signIn(setup, browser, setup.person({ groups: ['mesh-admins', 'night shift'] }, person))),
      ).to.equal(true)
      const operators = groupsBefore.get('operators')?._id
      const account = await setup.account(person, '', ({ links }) => {
        const ids = Object.keys(links ?? {})
        return ids.length === 2 && !ids.includes(String(operators).replaceAll('$', '%24'))
      })
      expect(account).to.include({ creation: created.creation, siteadmin: FULL })
      const groupsDuring = await groupsWith({ 'night shift': true, operators: false })
      expect(groupsDuring.get('mesh-admins')).to.deep.equal(groupsBefore.get('mesh-admins'))
      expect(groupsDuring.get('operators')?._id).to.equal(operators)
      expect(groupsDuring.get('night shift')?.membershipType).to.equal('oidc')
      expect([...groupsDuring.keys()]).to.have.members(['mesh-admins', 'operators', 'night shift'])

      await setup.restart({ ...config, strategy: 'built-in' })
      await signIn(setup, setup.browser(), setup.person({ groups: ['mesh-admins', 'operators'] }, person))
      const groupsAfter = await groupsWith({ operators: true, 'night shift': false })
      expect(groupsAfter.get('operators')?._id).to.equal(operators)
      expect((await setup.account(person)).creation).to.equal(created.creation)
    } finally {
      await setup.close()
    }
  })
})
