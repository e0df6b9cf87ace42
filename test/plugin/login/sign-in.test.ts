import { expect } from 'chai'
import { recordsInMemory } from '../../../fixtures/host/accounts-memory.ts'
import type { Records } from '../../../fixtures/host/records.ts'
import { LoginError } from '../../../plugin/errors.ts'
import type { Accounts, LoginTokens, Profile } from '../../../plugin/host/port.ts'
import { type Memberships, membershipsOf } from '../../../plugin/login/groups/memberships.ts'
import { type SignInIdentity, signIn } from '../../../plugin/login/sign-in.ts'
import { errorOf } from '../../support/error-of.ts'
import { MINIMAL, settingsOf } from '../config/one-domain.ts'

const ALICE: Profile = { id: '~oidc:1', name: 'Alice', email: 'alice@example.test', emailVerified: true }
const NOTHING = { created: false, siteAdmin: 'keep', joined: [], left: [] }

describe('signing in', () => {
  let records: Records
  beforeEach(() => {
    records = recordsInMemory()
  })
  afterEach(() => records.close())

  interface Around {
    readonly accounts?: Accounts
    readonly newAccounts?: boolean | null
    readonly newAccountsAllowed?: () => boolean
    readonly inMaintenance?: () => boolean
  }
  const enter = (memberships: Memberships = [], groups?: object, { newAccounts = true, ...host }: Around = {}) => {
    const oidc = { ...MINIMAL, ...(groups ? { groups } : {}), ...(newAccounts === null ? {} : { newAccounts }) }
    return signIn(ALICE, memberships, settingsOf(oidc), { ...records, ...host })
  }
  const refusal = async (login: Promise<unknown>) => {
    const error = await errorOf<LoginError>(login)
    expect(error).to.be.instanceOf(LoginError)
    expect(error?.details).to.include({ user: ALICE.id })
    return error as LoginError
  }
  const account = () => records.accounts.find('', ALICE.id)
  const mirrored = () => records.groups.mirroredOf('', ALICE.id)

  describe('with an account', () => {
    it('creates one at the first login, and takes name and address over at the next', async () => {
      expect(await enter()).to.deep.equal({ ...NOTHING, created: true })
      expect(await account()).to.include({ name: 'Alice', email: 'alice@example.test', siteAdmin: false })
      await records.accounts.update('', { ...ALICE, name: 'Old name', email: null })
      expect(await enter()).to.deep.equal(NOTHING)
      expect(await account()).to.include({ name: 'Alice', email: 'alice@example.test' })
    })

    // Shows: plugin 5.4.
    it('renames nobody by a fallback, which names new accounts and those without a name', async () => {
      const settings = settingsOf({ ...MINIMAL, newAccounts: true })
      const fallback = { ...ALICE, name: 'alice@example.test', isNameClaimed: false }
      const login = (identity: SignInIdentity, accounts: Accounts = records.accounts) =>
        signIn(identity, [], settings, { ...records, accounts })
      await login(fallback)
      expect(await account()).to.include({ name: 'alice@example.test' })
      await login({ ...ALICE, isNameClaimed: true })
      await login({ ...fallback, email: 'new@example.test' })
      expect(await account()).to.include({ name: 'Alice', email: 'new@example.test' })
      // As the built-in strategy of MeshCentral leaves accounts.
      const nameless = async () => ({ id: ALICE.id, name: null as never, email: null, siteAdmin: false })
      await login(fallback, { ...records.accounts, find: nameless })
      expect(await account()).to.include({ name: 'alice@example.test' })
    })

    // Shows: plugin 5.4.
    it('renames nobody by a fallback if two first logins come at once', async () => {
      const settings = settingsOf({ ...MINIMAL, newAccounts: true })
      const accounts: Accounts = {
        ...records.accounts,
        create: async (domainKey) => {
          await records.accounts.create(domainKey, ALICE)
          throw new Error('exists by now')
        },
      }
      await signIn({ ...ALICE, name: '1', isNameClaimed: false }, [], settings, { ...records, accounts })
      expect(await account()).to.include({ name: 'Alice' })
    })

    // Shows: plugin 2.6.
    it('lets a known user in whether new accounts are allowed or not', async () => {
      await records.accounts.create('', ALICE)
      for (const newAccounts of [true, false, null]) expect(await enter([], {}, { newAccounts })).to.deep.equal(NOTHING)
    })

    // Shows: plugin 2.6.
    // Shows: meshcentral 9.
    it('refuses an unknown user unless newAccounts, or else the host, allows new accounts', async () => {
      for (const host of [
        { newAccounts: false },
        { newAccounts: null },
        { newAccounts: null, newAccountsAllowed: () => false },
        { newAccounts: false, newAccountsAllowed: () => true },
      ]) {
        expect((await refusal(enter([], {}, host))).code).to.equal('account_unknown')
        expect(await account()).to.equal(undefined)
      }
      expect(await enter([], {}, { newAccounts: null, newAccountsAllowed: () => true })).to.include({ created: true })
    })

    const lockedAccounts = (): Accounts => ({
      ...records.accounts,
      async find(domain, id) {
        const found = await records.accounts.find(domain, id)
        return found && { ...found, locked: true }
      },
    })

    it('refuses a locked account and changes nothing of it, whatever groups say', async () => {
      await records.accounts.create('', ALICE)
      const rules = settingsOf({ ...MINIMAL, groups: { siteadmin: 'admins', sync: true } })
      const host = { ...records, accounts: lockedAccounts() }
      const login = signIn({ ...ALICE, name: 'New' }, membershipsOf(['admins']), rules, host)
      expect((await refusal(login)).code).to.equal('account_locked')
      expect(await account()).to.include({ name: 'Alice', siteAdmin: false })
      expect(await mirrored()).to.deep.equal([])
    })

    it('refuses an account that is locked as it is made, and says that it was made', async () => {
      const { code, message } = await refusal(enter([], undefined, { accounts: lockedAccounts() }))
      expect(code).to.equal('account_locked')
      expect(message).to.include('The account was created').and.include('newAccountsRights')
      expect(await account()).to.include({ name: 'Alice' })
    })

    it('lets in nobody but who is, or becomes by this login, a site admin while the server is in maintenance', async () => {
      const inMaintenance = () => true
      const admins = { siteadmin: 'admins' }
      expect((await refusal(enter([], {}, { inMaintenance }))).code).to.equal('maintenance')
      expect((await refusal(enter([], admins, { inMaintenance }))).code).to.equal('maintenance')
      expect(await account()).to.equal(undefined)
      expect(await enter(membershipsOf(['admins']), admins, { inMaintenance })).to.include({ siteAdmin: 'grant' })
      expect(await enter([], {}, { inMaintenance })).to.include({ created: false })
      expect((await refusal(enter([], admins, { inMaintenance }))).code).to.equal('maintenance')
    })

    it('fails when the host cannot create one, and keeps the cause', async () => {
      const cause = new Error('disk full')
      const accounts: Accounts = { ...records.accounts, create: () => Promise.reject(cause) }
      const failure = await refusal(enter([], undefined, { accounts }))
      expect([failure.code, failure.cause]).to.deep.equal(['host_failed', cause])
    })

    const from = (
      issuer: string | undefined,
      previous_issuers: unknown = [],
      groups?: object,
      of: Memberships = [],
    ) => {
      const settings = settingsOf({
        ...MINIMAL,
        newAccounts: true,
        custom: { previous_issuers },
        ...(groups && { groups }),
      })
      return signIn({ ...ALICE, name: 'Now', ...(issuer && { issuer }) }, of, settings, records)
    }

    // Shows: plugin 5.13.
    it('refuses the account of another issuer, names both, and changes nothing of it', async () => {
      await records.accounts.create('', { ...ALICE, issuer: 'https://old.example/realms/a' })
      await records.accounts.setSiteAdmin('', ALICE.id, true)
      for (const groups of [undefined, { required: 'staff', siteadmin: 'staff', sync: true }]) {
        const refused = await refusal(from('https://new.example', [], groups))
        expect(refused.code).to.equal('issuer_changed')
        const issuers = { remembered: 'https://old.example/realms/a', issuer: 'https://new.example' }
        expect(refused.details).to.deep.equal({ user: ALICE.id, ...issuers })
      }
      expect((await refusal(from('https://old.example/realms/b'))).code).to.equal('issuer_changed')
      expect(await account()).to.include({ name: 'Alice', siteAdmin: true, issuer: 'https://old.example/realms/a' })
    })

    // Shows: plugin 5.13.
    it('accepts an account of a previous issuer, and remembers the new issuer', async () => {
      await records.accounts.create('', { ...ALICE, issuer: 'https://old.example/' })
      expect(await from('https://new.example', ['https://older.example', 'https://OLD.example'])).to.deep.equal(NOTHING)
      expect(await account()).to.include({ issuer: 'https://new.example' })
      expect((await refusal(from('https://old.example'))).code).to.equal('issuer_changed')
    })

    // Shows: plugin 5.13.
    it('has an account without a remembered issuer remember that of its next login', async () => {
      await records.accounts.create('', ALICE)
      expect(await from('https://one.example')).to.deep.equal(NOTHING)
      expect(await account()).to.include({ issuer: 'https://one.example' })
      expect(await from('https://one.example/')).to.deep.equal(NOTHING)
      expect(await from(undefined)).to.deep.equal(NOTHING)
    })

    it('refuses an account of another issuer that is created during the login', async () => {
      let isMade = false
      const accounts: Accounts = {
        ...records.accounts,
        find: async (domain, id) => (isMade ? records.accounts.find(domain, id) : undefined),
        create: async (domain, profile) => {
          await records.accounts.create(domain, { ...profile, issuer: 'https://old.example' })
          isMade = true
          throw new Error('exists by now')
        },
      }
      const login = signIn(
        { ...ALICE, issuer: 'https://new.example' },
        [],
        settingsOf({ ...MINIMAL, newAccounts: true }),
        {
          ...records,
          accounts,
        },
      )
      expect((await refusal(login)).code).to.equal('issuer_changed')
    })

    // Shows: plugin 8.10.
    it('keeps the users of one domain out of the other', async () => {
      await records.accounts.create('elsewhere', ALICE)
      expect((await refusal(enter([], {}, { newAccounts: false }))).code).to.equal('account_unknown')
    })
  })

  describe('with a required group', () => {
    it('admits members and refuses everybody else, for whom nothing is written', async () => {
      const groups = { required: 'staff', siteadmin: 'other', sync: true }
      const refused = await refusal(enter(membershipsOf(['other']), groups))
      expect(refused.code).to.equal('not_in_required_group')
      expect(refused.details).to.deep.equal({ user: ALICE.id })
      expect(await account()).to.equal(undefined)
      expect(await enter(membershipsOf(['staff']), groups)).to.include({ created: true })
    })

    // Shows: plugin 6.2.
    it('leaves the account of a refused user as it was', async () => {
      await records.accounts.create('', { ...ALICE, name: 'Before' })
      await records.accounts.setSiteAdmin('', ALICE.id, true)
      await records.groups.join('', ALICE.id, 'staff')
      await refusal(enter([], { required: 'staff', siteadmin: 'admins', sync: true }))
      expect(await account()).to.include({ name: 'Before', siteAdmin: true })
      expect(await mirrored()).to.deep.equal(['staff'])
    })

    it('confirms login tokens at a login that succeeds, and at no other', async () => {
      const calls: unknown[] = []
      const loginTokens: LoginTokens = {
        confirm: async (...call) => {
          calls.push(call)
        },
        suspend: () => Promise.reject(new Error('not this')),
      }
      const settings = settingsOf({ ...MINIMAL, newAccounts: true, groups: { required: 'staff' } })
      const login = (groups: readonly string[]) =>
        signIn(ALICE, membershipsOf(groups), settings, { ...records, loginTokens })
      await refusal(login([]))
      expect(calls).to.deep.equal([])
      await login(['staff'])
      expect(calls).to.deep.equal([['', ALICE.id, 'login']])
    })

    // Shows: plugin 6.16, 8.12.
    it('refuses when the memberships are unknown', async () => {
      await records.accounts.create('', ALICE)
      expect((await refusal(enter('unknown', { required: 'staff' }))).code).to.equal('memberships_unknown')
    })

    it('says what to mend where the IdP left something out, and of what is known no more than that', async () => {
      const rules = settingsOf({ ...MINIMAL, groups: { required: 'staff' } })
      const remedyFor = async (memberships: Memberships, reported?: object) =>
        (await refusal(signIn(ALICE, memberships, rules, records, { ...reported }))).message
      expect(await remedyFor([], { missingClaim: 'roles' })).to.match(/The claim `roles`/)
      expect(await remedyFor([], { missingClaim: 'roles', scopeNotGranted: 'g' })).to.match(/the scope `g` for them/)
      const cameForOthers = { missingClaim: 'roles', scopeNotGranted: 'g', cameForOthers: true }
      expect(await remedyFor([], cameForOthers))
        .to.match(/in no group at all/)
        .and.not.include('scope')
      expect(await remedyFor([])).to.match(/`groups\.required`/)
      expect(await remedyFor('unknown', { missingClaim: 'roles' })).to.not.match(/roles/)
    })
  })

  // Shows: plugin 6.16.
  it('leaves site admin rights and mirrored groups as they are where memberships are unknown and none is required', async () => {
    const groups = { siteadmin: 'admins', sync: true }
    await enter(membershipsOf(['admins', 'staff']), groups)
    expect(await enter('unknown', groups)).to.deep.equal(NOTHING)
    expect(await account()).to.include({ siteAdmin: true })
    expect(await mirrored()).to.have.members(['admins', 'staff'])
  })

  describe('with a site admin group', () => {
    const groups = { siteadmin: ['admins', 'root'] }

    it('gives rights to members and takes them from others, and tells of it when it changes', async () => {
      for (const [of, change, siteAdmin] of [
        ['root', 'grant', true],
        ['admins', 'keep', true],
        ['staff', 'revoke', false],
        ['', 'keep', false],
      ] as const) {
        expect(await enter(membershipsOf(of ? [of] : []), groups)).to.include({ siteAdmin: change })
        expect(await account()).to.include({ siteAdmin })
      }
    })

    it('takes rights away that the host gave to an account as it was made', async () => {
      const accounts: Accounts = {
        ...records.accounts,
        create: async (domainKey, profile) => {
          await records.accounts.create(domainKey, profile)
          await records.accounts.setSiteAdmin(domainKey, profile.id, true)
        },
      }
      expect(await enter([], groups, { accounts })).to.include({ siteAdmin: 'revoke' })
      expect(await account()).to.include({ siteAdmin: false })
    })

    // Shows: plugin 6.4.
    // Shows: meshcentral 1.
    it('takes no rights away where it is told not to, nor where there is no such group', async () => {
      await records.accounts.create('', ALICE)
      await records.accounts.setSiteAdmin('', ALICE.id, true)
      for (const keeping of [{ ...groups, revokeAdmin: false }, { revokeAdmin: true }, undefined]) {
        expect(await enter([], keeping)).to.deep.equal(NOTHING)
        expect(await account()).to.include({ siteAdmin: true })
      }
    })
  })

  describe('with rights by groups', () => {
    const groups = { siteadmin: ['root'], rights: { helpdesk: ['manageusers'] } }
    /** What the host was told of rights, and of site admins before. */
    async function told(memberships: Memberships, more: object = {}, changed = true) {
      const calls: unknown[] = []
      const accounts: Accounts = {
        ...records.accounts,
        setSiteAdmin: async (domainKey, id, siteAdmin) => {
          calls.push(siteAdmin)
          await records.accounts.setSiteAdmin(domainKey, id, siteAdmin)
        },
        setRights: async (...call) => {
          calls.push(call)
          return changed
        },
      }
      const settings = settingsOf({ ...MINIMAL, newAccounts: true, groups: { ...groups, ...more } })
      const { rights } = await signIn(ALICE, memberships, settings, { ...records, accounts })
      return { calls, rights }
    }

    it('gives what the groups give, once it is settled who is site admin, and tells of it where it changed something', async () => {
      const of = (rights: readonly string[], takesAway = true) => ['', ALICE.id, rights, takesAway]
      const helpdesk = membershipsOf(['helpdesk', 'root'])
      expect(await told(helpdesk)).to.deep.equal({ calls: [true, of(['manageusers'])], rights: ['manageusers'] })
      expect(await told(helpdesk, {}, false)).to.deep.equal({ calls: [of(['manageusers'])], rights: undefined })
      expect(await told([])).to.deep.equal({ calls: [false, of([])], rights: [] })
      expect(await told([], { revokeAdmin: false })).to.deep.equal({ calls: [of([], false)], rights: [] })
    })

    it('changes none where memberships are unknown, or no rights are configured', async () => {
      expect((await told('unknown')).calls).to.deep.equal([])
      expect((await told(membershipsOf(['helpdesk']), { rights: undefined })).calls).to.deep.equal([])
    })
  })

  describe('with mirrored groups', () => {
    // Shows: plugin 6.6.
    it('makes them when they are first needed, and lets the user go when the IdP does', async () => {
      for (const [of, joined, left] of [
        [['a', 'b'], ['a', 'b'], []],
        [['b', 'c'], ['c'], ['a']],
        [[], [], ['b', 'c']],
      ] as const) {
        expect(await enter(membershipsOf(of), { sync: true })).to.deep.include({ joined, left })
        expect(await mirrored()).to.have.members([...of])
      }
    })

    // Shows: plugin 6.6.
    it('leaves groups alone that are not mirrored any more', async () => {
      await enter(membershipsOf(['a']), { sync: true })
      for (const groups of [{ sync: false }, {}, undefined]) expect(await enter([], groups)).to.deep.equal(NOTHING)
      expect(await mirrored()).to.deep.equal(['a'])
    })
  })
})
