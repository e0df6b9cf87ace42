import { expect } from 'chai'
import { recordsInMemory } from '../../../fixtures/host/accounts-memory.ts'
import type { Records } from '../../../fixtures/host/records.ts'
import { LoginError } from '../../../plugin/errors.ts'
import type { Accounts, LoginTokens, Profile } from '../../../plugin/host/port.ts'
import { type Memberships, membershipsOf } from '../../../plugin/login/groups/memberships.ts'
import { type SignInIdentity, signIn } from '../../../plugin/login/sign-in.ts'
import { errorOf } from '../../support/error-of.ts'
import { MINIMAL, settingsOf } from '../config/single-domain.ts'

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
  const logIn = (memberships: Memberships = [], groups?: object, { newAccounts = true, ...host }: Around = {}) => {
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

  describe('signing in with an account', () => {
    it('creates an account at the first login, and updates name and address at the next', async () => {
      expect(await logIn()).to.deep.equal({ ...NOTHING, created: true })
      expect(await account()).to.include({ name: 'Alice', email: 'alice@example.test', siteAdmin: false })
      await records.accounts.update('', { ...ALICE, name: 'Old name', email: null })
      expect(await logIn()).to.deep.equal(NOTHING)
      expect(await account()).to.include({ name: 'Alice', email: 'alice@example.test' })
    })

    // Shows: plugin 5.4.
    it('a fallback name never replaces the name of an account', async () => {
      const settings = settingsOf({ ...MINIMAL, newAccounts: true })
      const fallback = { ...ALICE, name: 'alice@example.test', isNameClaimed: false }
      const login = (identity: SignInIdentity, accounts: Accounts = records.accounts) =>
        signIn(identity, [], settings, { ...records, accounts })
      await login(fallback)
      expect(await account()).to.include({ name: 'alice@example.test' })
      await login({ ...ALICE, isNameClaimed: true })
      await login({ ...fallback, email: 'new@example.test' })
      expect(await account()).to.include({ name: 'Alice', email: 'new@example.test' })
      // The built-in strategy of MeshCentral leaves such accounts.
      const nameless = async () => ({ id: ALICE.id, name: null as never, email: null, siteAdmin: false })
      await login(fallback, { ...records.accounts, find: nameless })
      expect(await account()).to.include({ name: 'alice@example.test' })
    })

    // Shows: plugin 10.15.
    it('an account keeps its address and verification if UserInfo failed', async () => {
      const settings = settingsOf({ ...MINIMAL, newAccounts: true })
      const login = (identity: Partial<SignInIdentity>) => signIn({ ...ALICE, ...identity }, [], settings, records)
      await login({})
      const unverified = { emailVerified: null, isVerificationKnown: false }
      await login({ name: 'Alice B.', email: null, isEmailKnown: false, ...unverified })
      expect(await account()).to.include({ name: 'Alice B.', email: 'alice@example.test', emailVerified: true })
      await login(unverified)
      expect(await account()).to.include({ email: 'alice@example.test', emailVerified: true })
      await login({ email: 'new@example.test', ...unverified })
      expect(await account()).to.include({ email: 'new@example.test', emailVerified: null })
      await login({ email: null, emailVerified: null })
      expect(await account()).to.include({ email: null, emailVerified: null })
    })

    // Shows: plugin 5.4.
    it('two simultaneous first logins store the name from the claim, not the fallback', async () => {
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
    it('admits a user who has an account, whether or not new accounts are allowed', async () => {
      await records.accounts.create('', ALICE)
      for (const newAccounts of [true, false, null]) expect(await logIn([], {}, { newAccounts })).to.deep.equal(NOTHING)
    })

    // Shows: plugin 2.6.
    // Shows: meshcentral 9.
    it('refuses new accounts if newAccounts is false, or unset and the host allows none', async () => {
      for (const host of [
        { newAccounts: false },
        { newAccounts: null },
        { newAccounts: null, newAccountsAllowed: () => false },
        { newAccounts: false, newAccountsAllowed: () => true },
      ]) {
        expect((await refusal(logIn([], {}, host))).code).to.equal('account_unknown')
        expect(await account()).to.equal(undefined)
      }
      expect(await logIn([], {}, { newAccounts: null, newAccountsAllowed: () => true })).to.include({ created: true })
    })

    const lockedAccounts = (): Accounts => ({
      ...records.accounts,
      async find(domain, id) {
        const account = await records.accounts.find(domain, id)
        return account && { ...account, locked: true }
      },
    })

    it('refuses a locked account and changes nothing, even if its groups changed', async () => {
      await records.accounts.create('', ALICE)
      const rules = settingsOf({ ...MINIMAL, groups: { siteadmin: 'admins', sync: true } })
      const host = { ...records, accounts: lockedAccounts() }
      const login = signIn({ ...ALICE, name: 'New' }, membershipsOf(['admins']), rules, host)
      expect((await refusal(login)).code).to.equal('account_locked')
      expect(await account()).to.include({ name: 'Alice', siteAdmin: false })
      expect(await mirrored()).to.deep.equal([])
    })

    it('refuses an account that the host creates locked, and says that it is locked', async () => {
      const { code, message } = await refusal(logIn([], undefined, { accounts: lockedAccounts() }))
      expect(code).to.equal('account_locked')
      expect(message).to.include('The account was created').and.include('newAccountsRights')
      expect(await account()).to.include({ name: 'Alice' })
    })

    it('during maintenance, admits only users who are site admins after this login', async () => {
      const inMaintenance = () => true
      const admins = { siteadmin: 'admins' }
      expect((await refusal(logIn([], {}, { inMaintenance }))).code).to.equal('maintenance')
      expect((await refusal(logIn([], admins, { inMaintenance }))).code).to.equal('maintenance')
      expect(await account()).to.equal(undefined)
      expect(await logIn(membershipsOf(['admins']), admins, { inMaintenance })).to.include({ siteAdmin: 'grant' })
      expect(await logIn([], {}, { inMaintenance })).to.include({ created: false })
      expect((await refusal(logIn([], admins, { inMaintenance }))).code).to.equal('maintenance')
    })

    it('a login fails with host_failed and the cause if the host creates no account', async () => {
      const cause = new Error('disk full')
      const accounts: Accounts = { ...records.accounts, create: () => Promise.reject(cause) }
      const failure = await refusal(logIn([], undefined, { accounts }))
      expect(failure).to.include({ code: 'host_failed', cause })
    })

    const logInFrom = (
      issuer: string | undefined,
      previous_issuers: unknown = [],
      groups?: object,
      memberships: Memberships = [],
    ) => {
      const settings = settingsOf({
        ...MINIMAL,
        newAccounts: true,
        custom: { previous_issuers },
        ...(groups && { groups }),
      })
      return signIn({ ...ALICE, name: 'Now', ...(issuer && { issuer }) }, memberships, settings, records)
    }

    // Shows: plugin 5.13.
    it('refuses an account of another issuer, changes nothing and names both issuers', async () => {
      await records.accounts.create('', { ...ALICE, issuer: 'https://old.example/realms/a' })
      await records.accounts.setSiteAdmin('', ALICE.id, true)
      for (const groups of [undefined, { required: 'staff', siteadmin: 'staff', sync: true }]) {
        const refused = await refusal(logInFrom('https://new.example', [], groups))
        expect(refused.code).to.equal('issuer_changed')
        const issuers = { remembered: 'https://old.example/realms/a', issuer: 'https://new.example' }
        expect(refused.details).to.deep.equal({ user: ALICE.id, ...issuers })
      }
      expect((await refusal(logInFrom('https://old.example/realms/b'))).code).to.equal('issuer_changed')
      expect(await account()).to.include({ name: 'Alice', siteAdmin: true, issuer: 'https://old.example/realms/a' })
    })

    // Shows: plugin 5.13.
    it('accepts an account of a previous issuer, and stores the new issuer in it', async () => {
      await records.accounts.create('', { ...ALICE, issuer: 'https://old.example/' })
      expect(await logInFrom('https://new.example', ['https://older.example', 'https://OLD.example'])).to.deep.equal(
        NOTHING,
      )
      expect(await account()).to.include({ issuer: 'https://new.example' })
      expect((await refusal(logInFrom('https://old.example'))).code).to.equal('issuer_changed')
    })

    // Shows: plugin 5.13.
    it('stores the issuer of the next login in an account that has no issuer yet', async () => {
      await records.accounts.create('', ALICE)
      expect(await logInFrom('https://one.example')).to.deep.equal(NOTHING)
      expect(await account()).to.include({ issuer: 'https://one.example' })
      expect(await logInFrom('https://one.example/')).to.deep.equal(NOTHING)
      expect(await logInFrom(undefined)).to.deep.equal(NOTHING)
    })

    it('refuses an account that a login at another issuer creates at the same time', async () => {
      let isCreated = false
      const accounts: Accounts = {
        ...records.accounts,
        find: async (domain, id) => (isCreated ? records.accounts.find(domain, id) : undefined),
        create: async (domain, profile) => {
          await records.accounts.create(domain, { ...profile, issuer: 'https://old.example' })
          isCreated = true
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
    it('refuses a user with an account in another domain', async () => {
      await records.accounts.create('elsewhere', ALICE)
      expect((await refusal(logIn([], {}, { newAccounts: false }))).code).to.equal('account_unknown')
    })
  })

  describe('signing in with required groups', () => {
    it('admits members of a required group; a refusal creates no account', async () => {
      const groups = { required: 'staff', siteadmin: 'other', sync: true }
      const refused = await refusal(logIn(membershipsOf(['other']), groups))
      expect(refused.code).to.equal('not_in_required_group')
      expect(refused.details).to.deep.equal({ user: ALICE.id })
      expect(await account()).to.equal(undefined)
      expect(await logIn(membershipsOf(['staff']), groups)).to.include({ created: true })
    })

    // Shows: plugin 6.2.
    it('refusing a user outside the required group leaves the account unchanged', async () => {
      await records.accounts.create('', { ...ALICE, name: 'Before' })
      await records.accounts.setSiteAdmin('', ALICE.id, true)
      await records.groups.join('', ALICE.id, 'staff')
      await refusal(logIn([], { required: 'staff', siteadmin: 'admins', sync: true }))
      expect(await account()).to.include({ name: 'Before', siteAdmin: true })
      expect(await mirrored()).to.deep.equal(['staff'])
    })

    it("a login renews the user's login tokens only if it succeeds", async () => {
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
    it('refuses a user with unknown groups if a group is required', async () => {
      await records.accounts.create('', ALICE)
      expect((await refusal(logIn('unknown', { required: 'staff' }))).code).to.equal('memberships_unknown')
    })

    it('the remedy of a refusal names the claim or scope that the IdP did not send', async () => {
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
  it('a user with unknown groups keeps site admin and mirrored groups', async () => {
    const groups = { siteadmin: 'admins', sync: true }
    await logIn(membershipsOf(['admins', 'staff']), groups)
    expect(await logIn('unknown', groups)).to.deep.equal(NOTHING)
    expect(await account()).to.include({ siteAdmin: true })
    expect(await mirrored()).to.have.members(['admins', 'staff'])
  })

  describe('signing in with a site admin group', () => {
    const groups = { siteadmin: ['admins', 'root'] }

    it('grants and revokes site admin by group membership, and reports the change', async () => {
      for (const [group, change, siteAdmin] of [
        ['root', 'grant', true],
        ['admins', 'keep', true],
        ['staff', 'revoke', false],
        ['', 'keep', false],
      ] as const) {
        expect(await logIn(membershipsOf(group ? [group] : []), groups)).to.include({ siteAdmin: change })
        expect(await account()).to.include({ siteAdmin })
      }
    })

    it('revokes site admin that the host grants to a new account outside the admin group', async () => {
      const accounts: Accounts = {
        ...records.accounts,
        create: async (domainKey, profile) => {
          await records.accounts.create(domainKey, profile)
          await records.accounts.setSiteAdmin(domainKey, profile.id, true)
        },
      }
      expect(await logIn([], groups, { accounts })).to.include({ siteAdmin: 'revoke' })
      expect(await account()).to.include({ siteAdmin: false })
    })

    // Shows: plugin 6.4.
    // Shows: meshcentral 1.
    it('a user keeps site admin if revokeAdmin is false or groups.siteadmin is missing', async () => {
      await records.accounts.create('', ALICE)
      await records.accounts.setSiteAdmin('', ALICE.id, true)
      for (const keeping of [{ ...groups, revokeAdmin: false }, { revokeAdmin: true }, undefined]) {
        expect(await logIn([], keeping)).to.deep.equal(NOTHING)
        expect(await account()).to.include({ siteAdmin: true })
      }
    })
  })

  describe('signing in with groups that give rights', () => {
    const groups = { siteadmin: ['root'], rights: { helpdesk: ['manageusers'] } }
    /** Signs in and returns the host calls that change rights. */
    async function rightsCalls(memberships: Memberships, more: object = {}, changed = true) {
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

    it("a login changes site admin first, then the rights that the user's groups give", async () => {
      const rightsCall = (rights: readonly string[], takesAway = true) => ['', ALICE.id, rights, takesAway]
      const helpdesk = membershipsOf(['helpdesk', 'root'])
      expect(await rightsCalls(helpdesk)).to.deep.equal({
        calls: [true, rightsCall(['manageusers'])],
        rights: ['manageusers'],
      })
      expect(await rightsCalls(helpdesk, {}, false)).to.deep.equal({
        calls: [rightsCall(['manageusers'])],
        rights: undefined,
      })
      expect(await rightsCalls([])).to.deep.equal({ calls: [false, rightsCall([])], rights: [] })
      expect(await rightsCalls([], { revokeAdmin: false })).to.deep.equal({
        calls: [rightsCall([], false)],
        rights: [],
      })
    })

    it('a login changes no rights if groups are unknown or no rights are configured', async () => {
      expect((await rightsCalls('unknown')).calls).to.deep.equal([])
      expect((await rightsCalls(membershipsOf(['helpdesk']), { rights: undefined })).calls).to.deep.equal([])
    })
  })
})
