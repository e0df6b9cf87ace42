import { expect } from 'chai'
import { LoginError } from '../../../plugin/errors.ts'
import type { Profile } from '../../../plugin/host/port.ts'
import { signIn } from '../../../plugin/login/sign-in.ts'
import { MeshAccounts } from '../../../plugin/meshcentral/people/accounts.ts'
import { MeshUserGroups } from '../../../plugin/meshcentral/people/user-groups.ts'
import type { Members, MeshDatabase, MeshDomain } from '../../../plugin/meshcentral/server.ts'
import { takeOver } from '../../../plugin/meshcentral/start/take-over.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { MINIMAL, settingsOf } from '../config/single-domain.ts'
import { standIn } from './stand-in.ts'

const ALICE: Profile = { id: '~oidc:1', name: 'Alice', email: 'alice@example.test', emailVerified: true }
const KEY = 'user//~oidc:1'
const NOW = 1_790_000_000_999

function open(domain: Partial<MeshDomain> = {}, oidc: Members = {}) {
  const withOidc = { ...domain, authstrategies: { oidc } }
  const rows = new Map<string, Members>()
  const clock = new FakeClock(NOW)
  const parts = standIn({ domains: { '': withOidc, customer: { authstrategies: { oidc: {} } } }, records: rows })
  const domainsTaken = takeOver(parts.server.config.domains)
  return {
    ...parts,
    rows,
    accounts: new MeshAccounts(parts.server, parts.web, domainsTaken, clock),
    groups: new MeshUserGroups(parts.server, parts.web, ['azure', 'google'], clock),
  }
}

async function withAlice(...args: Parameters<typeof open>) {
  const parts = open(...args)
  await parts.accounts.create('', ALICE)
  return parts
}

const groupMadeByHand = (id: string, name: string, domain = '') =>
  ({ type: 'ugrp', _id: id, name, domain, links: {} }) as const

describe('accounts and user groups of MeshCentral', () => {
  it('accounts and groups are separate by domain and distinguished by letter case', async () => {
    const { accounts, groups } = await withAlice()
    await groups.join('', ALICE.id, 'staff')
    expect(await accounts.find('customer', ALICE.id)).to.equal(undefined)
    expect(await accounts.find('', '~oidc:__proto__')).to.equal(undefined)
    await accounts.create('customer', ALICE)
    expect(await groups.mirroredOf('customer', ALICE.id)).to.deep.equal([])
    await groups.join('customer', ALICE.id, 'staff')
    expect(await groups.mirroredOf('customer', ALICE.id)).to.deep.equal(['staff'])
    await groups.leave('customer', ALICE.id, 'staff')
    expect(await groups.mirroredOf('', ALICE.id)).to.deep.equal(['staff'])
  })

  // Shows: plugin 10.19.
  it('refuses a user id with markup characters, even of an existing account', async () => {
    for (const character of ["'", '"', '<', '>', '&', '\\', '`']) {
      const { accounts, web, rows } = open()
      const id = `~oidc:a${character}b` as const
      const expectRefused = async (done: Promise<unknown>) => {
        const error = await done.catch((reason: unknown) => reason)
        expect(error).to.be.instanceOf(LoginError)
        expect(error).to.deep.include({ code: 'subject_unusable', details: { account: `user//${id}` } })
        expect((error as LoginError).message).to.include('`custom.claims.uuid`')
      }
      await expectRefused(accounts.create('', { ...ALICE, id }))
      expect(web.users).to.deep.equal({})
      expect(rows.size).to.equal(0)
      const times = { creation: 1, login: 1, access: 1 }
      const existing = { type: 'user', _id: `user//${id}`, name: 'Before', ...times, domain: '' } as const
      web.users[existing._id] = { ...existing }
      await expectRefused(accounts.update('', { ...ALICE, id }))
      expect(web.users[existing._id]).to.deep.equal(existing)
    }
  })

  it('two simultaneous first logins create one account', async () => {
    const { accounts } = open()
    const results = await Promise.allSettled([accounts.create('', ALICE), accounts.create('', { ...ALICE, name: 'B' })])
    expect(results.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected'])
    expect(await accounts.find('', ALICE.id)).to.include({ name: 'Alice' })
  })

  describe('new account that the database rejects or changes', () => {
    const odd: Readonly<Record<string, (db: MeshDatabase, rows: Map<string, Members>) => Partial<MeshDatabase>>> = {
      'rejects the id as too long': () => ({
        Set: (_record, done) => done?.(new Error('value too long for type character varying(256)')),
      }),
      'truncates the id': (db) => ({
        Set: (record, done) => db.Set({ ...record, _id: KEY.slice(0, -1) }, done),
      }),
      'ignores case and has a similar id': (db, rows) => {
        rows.set(KEY.toUpperCase(), { _id: KEY.toUpperCase() })
        return { Get: (id, done) => db.Get(String(id).toUpperCase(), done) }
      },
    }
    for (const [condition, make] of Object.entries(odd)) {
      it(`removes a new account if the database ${condition}`, async () => {
        const { accounts, web, server, rows, events } = open()
        Object.assign(server.db, make({ ...server.db }, rows))
        const error: unknown = await accounts.create('', ALICE).catch((thrown: unknown) => thrown)
        expect(error).to.be.instanceOf(LoginError).and.to.include({ code: 'host_failed' })
        expect((error as LoginError).message)
          .to.include('custom.claims.uuid')
          .and.have.length.below(301)
        expect(web.users).to.deep.equal({})
        expect(events).to.deep.equal([])
        expect(
          [...rows.values()].filter(({ type }) => type === 'user' && condition.startsWith('ignores')),
        ).to.deep.equal([])
      })
    }
  })

  it('account events have no undefined values, which could crash the server', async () => {
    const { groups, events } = await withAlice()
    await groups.join('', ALICE.id, 'staff')
    await groups.leave('', ALICE.id, 'staff')
    for (const { event } of events) expect(Object.values(event)).not.to.include(undefined)
  })

  // Shows: meshcentral 21.
  it('a membership links user and group both ways; a group without members remains', async () => {
    const { groups, web, events } = await withAlice()
    await groups.join('', ALICE.id, 'staff')
    const [group] = Object.values(web.userGroups)
    expect(group?.links).to.deep.equal({ [KEY]: { userid: KEY, name: 'Alice', rights: 1 } })
    expect(web.users[KEY]?.links).to.deep.equal({ [group?._id ?? '']: { rights: 1 } })
    await groups.leave('', ALICE.id, 'staff')
    expect(group?.links).to.deep.equal({})
    expect(web.users[KEY]?.links).to.deep.equal({})
    expect(Object.values(web.userGroups)).to.deep.equal([group])
    const ofGroup = events.flatMap(({ event }) => (typeof event === 'object' && 'ugrpid' in event ? [event] : []))
    expect(ofGroup.map((event) => Reflect.get(event, 'msgid'))).to.deep.equal([69, 71, 72])
  })

  // Shows: meshcentral 24.
  it('mirrors a group even if a group of the same name was made by hand', async () => {
    const { groups, web } = await withAlice()
    web.userGroups['ugrp//hand'] = groupMadeByHand('ugrp//hand', 'staff')
    await groups.join('', ALICE.id, 'staff')
    const [, mirrored] = Object.values(web.userGroups)
    expect(mirrored).to.include({ name: 'staff', membershipType: 'oidc' })
    expect(web.userGroups['ugrp//hand']?.links).to.deep.equal({})
    expect(web.users[KEY]?.links).to.deep.equal({ [mirrored?._id ?? '']: { rights: 1 } })
  })

  // Shows: plugin 6.15.
  it('logs once that an LDAP or SAML group has the name of a mirrored group', async () => {
    const { accounts, groups, web, log, server } = await withAlice()
    web.userGroups['ugrp//hand'] = groupMadeByHand('ugrp//hand', 'radio')
    web.userGroups['ugrp//saml'] = { ...groupMadeByHand('ugrp//saml', 'staff'), membershipType: 'saml' }
    web.userGroups['ugrp/customer/ldap'] = { ...groupMadeByHand('x', 'crew', 'customer'), membershipType: 'ldap' }
    const nameTakenLines = () => log.filter((line) => line.includes('group-name-taken'))
    for (const name of ['staff', 'radio', 'crew']) await groups.join('', ALICE.id, name)
    await accounts.create('', { ...ALICE, id: '~oidc:2' })
    await groups.join('', '~oidc:2', 'staff')
    await groups.mirroredOf('', ALICE.id)
    const mirrored = Object.values(web.userGroups).find(
      ({ name, membershipType }) => name === 'staff' && membershipType === 'oidc',
    )
    expect(nameTakenLines()).to.have.length(1)
    for (const id of ['ugrp//saml', mirrored?._id ?? '?']) expect(nameTakenLines()[0]).to.include(id)
    // After a start, the line is logged again for existing members.
    await new MeshUserGroups(server, web, [], new FakeClock(NOW)).mirroredOf('', ALICE.id)
    expect(nameTakenLines()).to.have.length(2)
  })

  it("mirrors a group under another id if LDAP uses the group's usual id", async () => {
    const { accounts, groups, web } = await withAlice()
    await groups.join('', ALICE.id, 'staff')
    const [mirrored] = Object.values(web.userGroups)
    if (!mirrored) throw new Error('There is no group.')
    await groups.leave('', ALICE.id, 'staff')
    web.userGroups[mirrored._id] = { ...mirrored, membershipType: 'ldap' }

    await groups.join('', ALICE.id, 'staff')
    expect(web.userGroups[mirrored._id]?.links).to.deep.equal({})
    expect(await groups.mirroredOf('', ALICE.id)).to.deep.equal(['staff'])
    const bob = { ...ALICE, id: '~oidc:2' } as const
    await accounts.create('', bob)
    await groups.join('', bob.id, 'staff')
    const secondGroup = Object.values(web.userGroups).find(({ _id }) => _id !== mirrored._id)
    expect(Object.keys(secondGroup?.links ?? {})).to.deep.equal([KEY, 'user//~oidc:2'])
    await groups.leave('', ALICE.id, 'staff')
    expect(await groups.mirroredOf('', ALICE.id)).to.deep.equal([])
  })

  it("shows a group's name without markup, but recognizes the group by the IdP's name", async () => {
    const { groups, web } = await withAlice()
    const name = '<b>50%</b>\nstaff'
    await groups.join('', ALICE.id, name)
    expect(Object.values(web.userGroups).map((group) => group.name)).to.deep.equal(['‹b›50％‹/b› staff'])
    expect(await groups.mirroredOf('', ALICE.id)).to.deep.equal([name])
    await groups.join('', ALICE.id, '‹b›50％‹/b› staff')
    expect(Object.values(web.userGroups)).to.have.length(2)
    await groups.leave('', ALICE.id, name)
    expect(await groups.mirroredOf('', ALICE.id)).to.deep.equal(['‹b›50％‹/b› staff'])
  })

  it("writes an account in MeshCentral's format, in whole seconds, with an event", async () => {
    const { web, rows, events } = await withAlice()
    const seconds = Math.floor(NOW / 1000)
    const user = {
      type: 'user',
      _id: KEY,
      name: 'Alice',
      email: 'alice@example.test',
      emailVerified: true,
      creation: seconds,
      login: seconds,
      access: seconds,
      domain: '',
    }
    expect(web.users[KEY]).to.deep.equal(user)
    expect(rows.get(KEY)).to.deep.equal(user)
    expect(events.map(({ targets }) => targets)).to.deep.equal([['*', 'server-users']])
    expect(events[0]?.event).to.include({ etype: 'user', action: 'accountcreate', userid: KEY, username: 'Alice' })
  })

  it('a new account gets the defaults of the strategy, or else those of the domain', async () => {
    const domain = { newaccountsrights: 7, newaccountrealms: ['east'], newaccountsusergroups: ['hand'] }
    const ofDomain = open(domain)
    ofDomain.web.userGroups['ugrp//hand'] = groupMadeByHand('ugrp//hand', 'By hand')
    await ofDomain.accounts.create('', ALICE)
    expect(ofDomain.web.users[KEY]).to.deep.include({
      siteadmin: 7,
      groups: ['east'],
      links: { 'ugrp//hand': { rights: 1 } },
    })
    expect(ofDomain.web.userGroups['ugrp//hand']?.links).to.deep.equal({
      [KEY]: { userid: KEY, name: 'Alice', rights: 1 },
    })
    expect(await ofDomain.groups.mirroredOf('', ALICE.id)).to.deep.equal([])

    const ofStrategy = open(domain, {
      newaccountsrights: ['manageusers'],
      newaccountrealms: ['west'],
      newaccountsusergroups: ['none'],
    })
    await ofStrategy.accounts.create('', ALICE)
    expect(ofStrategy.web.users[KEY]).to.deep.include({ siteadmin: 2, groups: ['west'] })
    expect(ofStrategy.web.users[KEY]?.links).to.equal(undefined)
  })

  it('a user who is no longer site admin gets the rights of a new account', async () => {
    for (const [domain, rights] of [
      [{ newaccountsrights: 7 }, 7],
      [{ newaccountsrights: 0xffffffff }, undefined],
      [{}, undefined],
    ] as const) {
      const { accounts, web } = await withAlice(domain)
      await accounts.setSiteAdmin('', ALICE.id, true)
      expect(web.users[KEY]?.siteadmin).to.equal(0xffffffff)
      await accounts.setSiteAdmin('', ALICE.id, false)
      expect(web.users[KEY]?.siteadmin).to.equal(rights)
    }
  })

  // Shows: plugin 6.5.
  it('adds rights of groups to manually given rights, and revokes only group rights', async () => {
    const { accounts, web, events } = await withAlice({ newaccountsrights: 1 })
    const rights = async (names: readonly string[], takesAway = true) => {
      const changed = await accounts.setRights?.('', ALICE.id, names, takesAway)
      return [changed, web.users[KEY]?.siteadmin, web.users[KEY]?.oidcrights]
    }
    expect(await rights(['serverbackup', 'manageusers'])).to.deep.equal([true, 1 + 2, 2])
    const countBefore = events.length
    expect(await rights(['manageusers'])).to.deep.equal([false, 1 + 2, 2])
    expect(events).to.have.length(countBefore)
    expect(await rights(['recordings'], false)).to.deep.equal([true, 1 + 2 + 512, 2 + 512])
    expect(await rights(['recordings'])).to.deep.equal([true, 1 + 512, 512])
    // An administrator adds one right and removes one that a group grants.
    Object.assign(web.users[KEY] ?? {}, { siteadmin: 1 + 8 })
    expect(await rights(['recordings'])).to.deep.equal([true, 1 + 8 + 512, 512])
    expect(await rights([])).to.deep.equal([true, 1 + 8, 0])
  })

  it('a former site admin has the rights of a new account and those from IdP groups', async () => {
    const { accounts, web } = await withAlice({ newaccountsrights: 2 })
    // One right was removed by hand, and a group grants it.
    Object.assign(web.users[KEY] ?? {}, { siteadmin: 0 })
    await accounts.setRights?.('', ALICE.id, ['manageusers'], true)
    await accounts.setSiteAdmin('', ALICE.id, true)
    expect(await accounts.setRights?.('', ALICE.id, [], true)).to.equal(false)
    expect(web.users[KEY]?.siteadmin).to.equal(0xffffffff)
    await accounts.setSiteAdmin('', ALICE.id, false)
    await accounts.setRights?.('', ALICE.id, ['manageusers'], true)
    await accounts.setRights?.('', ALICE.id, [], true)
    expect(web.users[KEY]?.siteadmin).to.equal(2)
  })

  it('creating an account beyond limits.maxUserAccounts fails', async () => {
    const { accounts } = await withAlice({ limits: { maxuseraccounts: 1 } })
    const error: unknown = await accounts.create('', { ...ALICE, id: '~oidc:2' }).catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(LoginError).and.to.include({ code: 'account_limit' })
  })

  it('simultaneous first logins create no account beyond limits.maxUserAccounts', async () => {
    const { accounts, web } = open({ limits: { maxuseraccounts: 2 } })
    const ids = ['~oidc:1', '~oidc:2', '~oidc:3'] as const
    const outcomes = await Promise.allSettled(ids.map((id) => accounts.create('', { ...ALICE, id })))
    const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
    expect(refused.map(({ code }) => code)).to.deep.equal(['account_limit'])
    expect(Object.keys(web.users)).to.have.length(2)
  })

  // Shows: meshcentral 25.
  it('an address that MeshCentral verified stays verified until the IdP sends another', async () => {
    const { accounts, web } = await withAlice()
    await accounts.update('', { ...ALICE, emailVerified: false })
    expect(web.users[KEY]).to.include({ emailVerified: true })
    await accounts.update('', { ...ALICE, email: 'new@example.test', emailVerified: false })
    expect(web.users[KEY]).to.include({ email: 'new@example.test', emailVerified: false })
    await accounts.update('', { ...ALICE, email: null, emailVerified: false })
    expect(web.users[KEY]).to.include({ email: 'new@example.test' })
  })

  // Shows: plugin 10.15.
  it('an unverified address stays unverified if UserInfo fails during a login', async () => {
    const { accounts, web } = open()
    await accounts.create('', { ...ALICE, emailVerified: false })
    const groups = { mirroredOf: async () => [], join: async () => {}, leave: async () => {} }
    const identity = { ...ALICE, emailVerified: null, isVerificationKnown: false }
    await signIn(identity, [], settingsOf(MINIMAL), { accounts, groups })
    await signIn({ ...identity, email: null, isEmailKnown: false }, [], settingsOf(MINIMAL), { accounts, groups })
    expect(web.users[KEY]).to.include({ email: 'alice@example.test', emailVerified: false })
  })

  it('an address counts as verified if the IdP sends no email_verified', async () => {
    const { accounts, web } = open()
    await accounts.create('', { ...ALICE, emailVerified: null })
    expect(web.users[KEY]).to.include({ emailVerified: true })
    await accounts.update('', { ...ALICE, email: 'new@example.test', emailVerified: false })
    await accounts.update('', { ...ALICE, email: 'new@example.test', emailVerified: null })
    expect(web.users[KEY]).to.include({ email: 'new@example.test', emailVerified: true })
  })

  it("replaces markup in a user's name, also where device groups store that name", async () => {
    const { accounts, web, rows } = open()
    await accounts.create('', { ...ALICE, name: '<100%> Alice' })
    expect(web.users[KEY]).to.include({ name: '‹100％› Alice' })
    const group = (name: string) => ({ _id: 'mesh//1', links: { [KEY]: { name, rights: 1 } } })
    Object.assign(web, { meshes: { 'mesh//1': group('100%') } })
    Object.assign(web.users[KEY] ?? {}, { links: { 'mesh//1': { rights: 1 }, 'mesh//gone': { rights: 1 } } })
    await accounts.update('', { ...ALICE, name: '<b>Alice</b>' })
    expect(web.users[KEY]?.name).to.equal('‹b›Alice‹/b›')
    expect(web.meshes).to.deep.equal({ 'mesh//1': group('‹b›Alice‹/b›') })
    expect(rows.get('mesh//1')).to.deep.equal(group('‹b›Alice‹/b›'))
  })

  it('a login that changes nothing in the account sends no event', async () => {
    const { accounts, events } = await withAlice()
    const countBefore = events.length
    await accounts.update('', ALICE)
    expect(events).to.have.length(countBefore)
  })

  it('the lock bit locks an account, unless the account is a site admin', async () => {
    const { accounts, web } = await withAlice()
    Object.assign(web.users[KEY] ?? {}, { siteadmin: 32 + 1 })
    expect(await accounts.find('', ALICE.id)).to.include({ locked: true, siteAdmin: false })
    await accounts.setSiteAdmin('', ALICE.id, true)
    expect(await accounts.find('', ALICE.id))
      .to.include({ siteAdmin: true })
      .and.not.to.have.property('locked')
    await accounts.setSiteAdmin('', ALICE.id, false)
    expect(web.users[KEY]).not.to.have.property('siteadmin')
  })

  // Shows: meshcentral 24.
  it('recognizes groups that the built-in strategy mirrored, but no LDAP groups', async () => {
    const { groups, web } = await withAlice()
    await groups.join('', ALICE.id, 'staff')
    const [group] = Object.values(web.userGroups)
    for (const [membershipType, isKept] of [
      ['oidc', true],
      ['azure', true],
      ['google', true],
      ['ldap', false],
    ] as const) {
      Object.assign(group ?? {}, { membershipType })
      expect(await groups.mirroredOf('', ALICE.id), membershipType).to.deep.equal(isKept ? ['staff'] : [])
      await groups.join('', ALICE.id, 'staff')
      expect(Object.keys(web.userGroups), membershipType).to.have.length(isKept ? 1 : 2)
    }
  })

  it("a mirrored group has the id that MeshCentral's built-in strategy gives it", async () => {
    const { groups, web } = await withAlice()
    await groups.join('', ALICE.id, 'mesh-users')
    expect(Object.keys(web.userGroups)).to.deep.equal([
      'ugrp//zobkd8hBm7xdcsG@$qnIbOcPKqNis1E5yv@OVK$WdbxqZQmtCQx5W@UJ2B4vTMmy',
    ])
  })
})
