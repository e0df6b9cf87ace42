import { expect } from 'chai'
import { openPage } from './support/control-socket.ts'
import { alteredProgram } from './support/data-folder.ts'
import { useLaboratory } from './support/laboratory.ts'
import { type MeshSetup, type Person, setUpMesh, userKey } from './support/mesh-setup.ts'
import { isApp, isLoginPage, messageOn, signedIn, signIn } from './support/session.ts'
import { until } from './support/until.ts'

useLaboratory()

const FULL = 0xffffffff

describe('accounts in MeshCentral', () => {
  let setup: MeshSetup

  before(async () => {
    setup = await setUpMesh({
      domains: {
        '': { oidc: { groups: { siteadmin: ['mesh-admins'] } } },
        own: { oidc: { newAccounts: undefined }, members: { newAccounts: true } },
        number: { oidc: { newAccounts: undefined }, members: { newAccounts: 1 } },
        silent: { oidc: { newAccounts: undefined } },
        over: { oidc: { newAccounts: false }, members: { newAccounts: true } },
        opens: { oidc: { newAccounts: true }, members: { newAccounts: false } },
        rights: { members: { newAccountsRights: ['nonewgroups', 'notools'] } },
        rights2: {
          oidc: { newAccountsRights: ['manageusers'] },
          members: { newAccountsRights: ['nonewgroups', 'notools'] },
        },
        realms: { members: { newAccountRealms: ['north'] } },
        realms2: { oidc: { newAccountRealms: ['south', 'west'] }, members: { newAccountRealms: ['north'] } },
        few: { members: { limits: { maxUserAccounts: 2 } } },
      },
    })
  })
  after(() => setup?.close())

  const outcome = async (domain: string, person = setup.person()) => {
    const page = await signIn(setup, setup.browser(), person, { domain })
    return { app: isApp(page), message: isLoginPage(page) ? messageOn(page) : null }
  }
  const IN = { app: true, message: null }

  for (const [domain, what] of [
    ['own', 'the domain says true and the oidc object nothing'],
    ['number', 'the domain says 1 and the oidc object nothing'],
    ['opens', 'the oidc object says true and the domain false'],
  ] as const) {
    it(`are made where ${what}`, async () => {
      const person = setup.person()
      expect(await outcome(domain, person)).to.deep.equal(IN)
      await setup.account(person, domain)
    })
  }
  for (const [domain, what] of [
    ['silent', 'neither says so'],
    ['over', 'the oidc object says false and the domain true'],
  ] as const) {
    it(`are not made where ${what}: message 100`, async () => {
      const person = setup.person()
      expect(await outcome(domain, person)).to.deep.equal({ app: false, message: 100 })
      expect(await setup.hasAccount(person, domain)).to.equal(false)
    })
  }

  it('have what MeshCentral keeps of a user, and no more', async () => {
    const person = setup.person({ name: 'Ada Lovelace', email: 'ada@example.test' })
    const before = Math.floor(Date.now() / 1000)
    await signedIn(setup, person)
    const { creation, login, access, ...record } = await setup.account(person)
    expect(record).to.deep.equal({
      type: 'user',
      _id: userKey(person),
      name: 'Ada Lovelace',
      email: 'ada@example.test',
      emailVerified: true,
      domain: '',
    })
    for (const time of [creation, login, access]) expect(time).to.be.within(before, before + 10)
  })

  it('take a new name and address over at the next login', async () => {
    const person = setup.person()
    await signedIn(setup, person)
    await signedIn(setup, setup.person({ name: 'After A Wedding', email: 'new@example.test' }, person))
    const record = await setup.account(person, '', ({ name }) => name === 'After A Wedding')
    expect(record.email).to.equal('new@example.test')
  })

  it('keep odd subjects as they are', async () => {
    const person = { ...setup.person(), sub: 'a/b c$d.e%f|g' }
    setup.idp.setUser({ ...person, claims: { name: 'Odd' } })
    const browser = await signedIn(setup, person)
    expect((await setup.account(person))._id).to.equal('user//~oidc:a/b c$d.e%f|g')
    const page = await openPage(setup, browser)
    expect(page.user._id).to.equal('user//~oidc:a/b c$d.e%f|g')
    page.close()
  })

  it("get the domain's newAccountsRights, and those of the oidc object instead where it has them", async () => {
    const [one, other] = [setup.person(), setup.person()]
    await signedIn(setup, one, 'rights')
    expect((await setup.account(one, 'rights')).siteadmin).to.equal(64 + 128)
    await signedIn(setup, other, 'rights2')
    expect((await setup.account(other, 'rights2')).siteadmin).to.equal(2)
  })

  it("get the domain's newAccountRealms, and those of the oidc object instead where it has them", async () => {
    const [one, other] = [setup.person(), setup.person()]
    await signedIn(setup, one, 'realms')
    expect((await setup.account(one, 'realms')).groups).to.deep.equal(['north'])
    await signedIn(setup, other, 'realms2')
    expect((await setup.account(other, 'realms2')).groups).to.deep.equal(['south', 'west'])
  })

  it('are not made beyond limits.maxUserAccounts: message 101', async () => {
    for (let made = 0; made < 2; made += 1) {
      const person = setup.person()
      expect(await outcome('few', person)).to.deep.equal(IN)
      await setup.account(person, 'few')
    }
    const person = setup.person()
    expect(await outcome('few', person)).to.deep.equal({ app: false, message: 101 })
    expect(await setup.hasAccount(person, 'few')).to.equal(false)
  })

  it('leave the events that MeshCentral writes at a login', async () => {
    const person = setup.person()
    await signedIn(setup, person)
    const own = await until('the events', async () => {
      const events = (await setup.data.events()).filter(({ userid }) => userid === userKey(person))
      return events.some(({ action }) => action === 'login') && events
    })
    const byAction = new Map(own.map((event) => [event.action, event]))
    expect([...byAction.keys()]).to.have.members(['accountcreate', 'login'])
    expect(byAction.get('accountcreate')).to.include({ etype: 'user', username: person.name, domain: '' })
    expect(byAction.get('login')).to.include({ etype: 'user', msgid: 107, twoFactorType: 'sso', ip: '127.0.0.1' })
    expect(byAction.get('login')?.msgArgs).to.have.length(3)
  })
})

describe('an account in a MeshCentral whose database takes its time', () => {
  let setup: MeshSetup
  before(async () => {
    const slow =
      'const { isMaxType } = server.db; server.db.isMaxType = (...asked) => setTimeout(isMaxType, 500, ...asked)'
    setup = await setUpMesh({
      program: await alteredProgram(slow),
      domains: { '': { members: { limits: { maxUserAccounts: 100 } } } },
    })
  })
  after(() => setup?.close())

  it('is made once by several first logins at the same time, all of which sign in', async () => {
    const person = setup.person()
    const pages = await Promise.all([1, 2, 3].map(() => signIn(setup, setup.browser(), person)))
    expect(pages.map(isApp)).to.deep.equal([true, true, true])
    const actions = await until('all events', async () => {
      const events = (await setup.data.events()).filter(({ userid }) => userid === userKey(person))
      const all = events.map(({ action }) => action)
      return all.filter((action) => action === 'login').length === 3 && all
    })
    expect(actions.filter((action) => action === 'accountcreate')).to.have.length(1)
  })
})

describe('accounts and groups that MeshCentral itself has made', () => {
  let setup: MeshSetup
  after(() => setup?.close())
  const oidc = { groups: { sync: true, siteadmin: ['mesh-admins'] } }
  const groupsOf = (person: Person) => async () => {
    const records = await setup.data.records()
    const groups = [...records.values()].filter(({ type }) => type === 'ugrp')
    return new Map(
      groups.map(({ _id, name, membershipType, links }) => [
        String(name),
        { _id, membershipType, isMember: Object.keys((links as object | undefined) ?? {}).includes(escaped(person)) },
      ]),
    )
  }
  const escaped = (person: Person) => userKey(person).replaceAll('.', '%2E').replaceAll('$', '%24')

  it('are kept when the plugin comes, which leaves what it keeps when it goes', async () => {
    const config = { domains: { '': { oidc }, '2': { oidc: { newAccounts: false } } } }
    setup = await setUpMesh({ ...config, strategy: 'built-in' })
    const person = setup.person({ groups: ['mesh-admins', 'operators'] })
    await signIn(setup, setup.browser(), person)
    const made = await setup.account(person, '', ({ siteadmin }) => siteadmin === FULL)
    const groups = groupsOf(person)
    const before = await until('the groups', async () => {
      const all = await groups()
      return all.get('operators')?.isMember === true && all.get('mesh-admins')?.isMember === true && all
    })

    await setup.restart({ ...config, strategy: 'ours' })
    await signedIn(setup, setup.person({ groups: ['mesh-admins', 'night shift'] }, person))
    const kept = await setup.account(person, '', ({ links }) => {
      const ids = Object.keys(links ?? {})
      return ids.length === 2 && !ids.includes(String(before.get('operators')?._id).replaceAll('$', '%24'))
    })
    expect(kept.creation).to.equal(made.creation)
    expect(kept.siteadmin).to.equal(FULL)
    const during = await until('the groups', async () => {
      const all = await groups()
      return all.get('night shift')?.isMember === true && all.get('operators')?.isMember === false && all
    })
    expect(during.get('mesh-admins')).to.deep.equal(before.get('mesh-admins'))
    expect(during.get('operators')?._id).to.equal(before.get('operators')?._id)
    expect(during.get('night shift')?.membershipType).to.equal('oidc')
    expect([...during.keys()]).to.have.members(['mesh-admins', 'operators', 'night shift'])

    await setup.restart({ ...config, strategy: 'built-in' })
    await signIn(setup, setup.browser(), setup.person({ groups: ['mesh-admins', 'operators'] }, person))
    const after = await until('the groups', async () => {
      const all = await groups()
      return all.get('operators')?.isMember === true && all.get('night shift')?.isMember === false && all
    })
    expect(after.get('operators')?._id).to.equal(before.get('operators')?._id)
    expect((await setup.account(person)).creation).to.equal(made.creation)
  })
})
