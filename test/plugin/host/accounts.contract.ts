import { expect } from 'chai'
import type { Profile, UserId } from '../../../plugin/host/port.ts'
import type { StoredAccounts, StoredUserGroups } from '../../../plugin/host/stored/records.ts'
import { messageOf } from '../../support/message-of.ts'

/** Accounts and user groups of one server. */
export interface StoredPeople {
  readonly accounts: StoredAccounts
  readonly groups: StoredUserGroups
  close(): Promise<void>
}

const ALICE: Profile = { id: '~oidc:a/1 ü', name: 'Alice', email: 'alice@example.test', emailVerified: true }
const BOB: Profile = { id: '~oidc:b', name: 'Bob', email: null, emailVerified: false }
const NOBODY: UserId = '~oidc:nobody'

/** Defines tests that every implementation of accounts and user groups must pass. `open` starts without records. */
export function accountsContract(open: () => Promise<StoredPeople>): void {
  let records: StoredPeople
  beforeEach(async () => {
    records = await open()
    await records.accounts.create('', ALICE)
    await records.accounts.create('', BOB)
  })
  afterEach(() => records.close())

  it("a new account has the user's name and e-mail address, but no rights", async () => {
    expect(await records.accounts.find('', ALICE.id)).to.deep.equal({
      id: ALICE.id,
      name: 'Alice',
      email: 'alice@example.test',
      emailVerified: true,
      siteAdmin: false,
    })
    expect((await records.accounts.find('', BOB.id))?.email).to.equal(null)
    expect(await records.accounts.find('', NOBODY)).to.equal(undefined)
  })

  it('an account stores whether its address is verified, not verified or unknown', async () => {
    for (const emailVerified of [true, false, null]) {
      await records.accounts.update('', { ...ALICE, emailVerified })
      expect(await records.accounts.find('', ALICE.id)).to.include({ emailVerified })
    }
    const id = '~oidc:new'
    await records.accounts.create('', { ...ALICE, id, emailVerified: null })
    expect(await records.accounts.find('', id)).to.include({ emailVerified: null })
  })

  it('account ids are distinguished by letter case', async () => {
    expect(await records.accounts.find('', '~oidc:B')).to.equal(undefined)
    await records.accounts.create('', { ...BOB, id: '~oidc:B' })
    expect((await records.accounts.find('', '~oidc:B'))?.id).to.equal('~oidc:B')
  })

  it('accounts and groups of different domains are separate', async () => {
    expect(await records.accounts.find('customer', ALICE.id)).to.equal(undefined)
    await records.accounts.create('customer', { ...ALICE, name: 'Other Alice' })
    await records.accounts.setSiteAdmin('customer', ALICE.id, true)
    await records.groups.join('customer', ALICE.id, 'staff')

    expect(await records.accounts.find('', ALICE.id)).to.include({ name: 'Alice', siteAdmin: false })
    expect(await records.groups.mirroredOf('', ALICE.id)).to.deep.equal([])
    await records.groups.joinByHand('customer', ALICE.id, 'crew')
    expect(await records.groups.allOf('', ALICE.id)).to.deep.equal([])
  })

  it('creating an account that already exists fails and changes nothing', async () => {
    expect(await messageOf(records.accounts.create('', { ...ALICE, name: 'Mallory' }))).to.match(/already exists/)
    expect((await records.accounts.find('', ALICE.id))?.name).to.equal('Alice')
  })

  it("an update changes an account's name and address, but not its rights or groups", async () => {
    await records.accounts.setSiteAdmin('', ALICE.id, true)
    await records.groups.join('', ALICE.id, 'staff')
    await records.accounts.update('', { ...ALICE, name: 'Alice B.', email: null })

    const account = await records.accounts.find('', ALICE.id)
    expect(account).to.deep.equal({ id: ALICE.id, name: 'Alice B.', email: null, siteAdmin: true, emailVerified: true })
    expect(await records.groups.mirroredOf('', ALICE.id)).to.deep.equal(['staff'])
  })

  it('an account keeps its issuer if an update contains no issuer', async () => {
    const remembered = async (id: UserId) => (await records.accounts.find('', id))?.issuer
    expect(await remembered(ALICE.id)).to.equal(undefined)
    await records.accounts.update('', { ...ALICE, issuer: 'https://one.example' })
    await records.accounts.update('', ALICE)
    await records.accounts.setSiteAdmin('', ALICE.id, true)
    expect(await remembered(ALICE.id)).to.equal('https://one.example')
    await records.accounts.update('', { ...ALICE, issuer: 'https://two.example' })
    expect(await remembered(ALICE.id)).to.equal('https://two.example')
    await records.accounts.create('customer', { ...ALICE, issuer: 'https://one.example' })
    expect((await records.accounts.find('customer', ALICE.id))?.issuer).to.equal('https://one.example')
    expect(await remembered(BOB.id)).to.equal(undefined)
  })

  it('setSiteAdmin makes only the named account site admin, or revokes that right', async () => {
    for (const siteAdmin of [true, false]) {
      await records.accounts.setSiteAdmin('', ALICE.id, siteAdmin)
      expect(await records.accounts.find('', ALICE.id)).to.include({ siteAdmin })
      expect(await records.accounts.find('', BOB.id)).to.include({ siteAdmin: false })
    }
  })

  it('updating a missing account fails and creates no account', async () => {
    for (const work of [
      records.accounts.update('', { ...BOB, id: NOBODY }),
      records.accounts.setSiteAdmin('', NOBODY, true),
    ]) {
      expect(await messageOf(work)).to.equal('The account does not exist.')
    }
    expect(await records.accounts.find('', NOBODY)).to.equal(undefined)
  })

  it('none of 42 simultaneous changes to accounts and groups is lost', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `group ${index}`)
    await Promise.all([
      records.accounts.update('', { ...ALICE, name: 'Alice B.' }),
      records.accounts.setSiteAdmin('', ALICE.id, true),
      ...names.map((name) => records.groups.join('', ALICE.id, name)),
      ...names.map((name) => records.groups.joinByHand('', ALICE.id, name)),
    ])
    expect(await records.accounts.find('', ALICE.id)).to.include({ name: 'Alice B.', siteAdmin: true })
    expect(await records.groups.mirroredOf('', ALICE.id)).to.have.members(names)
    expect(await records.groups.allOf('', ALICE.id)).to.have.length(40)
  })

  it('a mirrored group is created when its first user joins; others join and leave it', async () => {
    await records.groups.join('', ALICE.id, 'staff')
    await records.groups.join('', ALICE.id, 'staff')
    await records.groups.join('', BOB.id, 'staff')
    await records.groups.join('', BOB.id, "it's 100% 'quoted'")

    expect(await records.groups.mirroredOf('', ALICE.id)).to.deep.equal(['staff'])
    expect(await records.groups.mirroredOf('', BOB.id)).to.have.members(['staff', "it's 100% 'quoted'"])
    await records.groups.leave('', BOB.id, 'staff')
    expect(await records.groups.mirroredOf('', BOB.id)).to.deep.equal(["it's 100% 'quoted'"])
    expect(await records.groups.mirroredOf('', ALICE.id)).to.deep.equal(['staff'])
    // The last member leaves, and a first one joins again.
    await records.groups.leave('', ALICE.id, 'staff')
    await records.groups.join('', ALICE.id, 'staff')
    expect(await records.groups.mirroredOf('', ALICE.id)).to.deep.equal(['staff'])
  })

  // Shows: plugin 6.10, 9.24.
  it('a mirrored group may have the same name as a group that was made by hand', async () => {
    await records.groups.joinByHand('', BOB.id, 'staff')

    await records.groups.join('', ALICE.id, 'staff')
    await records.groups.leave('', BOB.id, 'staff')
    expect(await records.groups.mirroredOf('', ALICE.id)).to.deep.equal(['staff'])
    expect(await records.groups.mirroredOf('', BOB.id)).to.deep.equal([])
    expect(await records.groups.allOf('', BOB.id)).to.deep.equal(['staff'])
    await records.groups.join('', BOB.id, 'staff')
    expect(await records.groups.allOf('', BOB.id)).to.deep.equal(['staff', 'staff'])
    await records.groups.leave('', BOB.id, 'staff')
    expect(await records.groups.allOf('', BOB.id)).to.deep.equal(['staff'])
    await records.groups.leaveByHand('', BOB.id, 'staff')
    expect(await records.groups.allOf('', BOB.id)).to.deep.equal([])
    expect(await records.groups.allOf('', ALICE.id)).to.deep.equal(['staff'])
  })

  it('users, domains and groups may have names such as __proto__ and constructor', async () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '']
    for (const name of names) {
      const id: UserId = `~oidc:${name}`
      await records.accounts.create(name, { ...BOB, id, name: name || 'x' })
      await records.groups.join(name, id, name)
      expect(await records.accounts.find(name, id)).to.include({ id, siteAdmin: false })
      expect(await records.groups.mirroredOf(name, id)).to.deep.equal([name])
    }
    expect(await records.groups.allOf('valueOf', '~oidc:valueOf')).to.deep.equal([])
    expect(await records.accounts.find('valueOf', '~oidc:valueOf')).to.equal(undefined)
  })

  it('users of different domains never share accounts, even if ids contain separators', async () => {
    for (const between of ['/', ' ', ',', '"', '","', '\\', ':', '\n']) {
      await records.accounts.create(`x${between}~oidc:y`, { ...BOB, id: '~oidc:z', name: 'one' })
      await records.accounts.create('x', { ...BOB, id: `~oidc:y${between}~oidc:z`, name: 'other' })
      await records.groups.join(`x${between}~oidc:y`, '~oidc:z', 'staff')
      expect(await records.groups.allOf('x', `~oidc:y${between}~oidc:z`), between).to.deep.equal([])
    }
  })

  it('group names are distinguished by letter case', async () => {
    await records.groups.join('', BOB.id, 'Staff')
    await records.groups.join('', ALICE.id, 'staff')
    await records.groups.leave('', BOB.id, 'staff')
    expect(await records.groups.mirroredOf('', BOB.id)).to.deep.equal(['Staff'])
    expect(await records.groups.mirroredOf('', ALICE.id)).to.deep.equal(['staff'])
  })

  it("a user's groups are in alphabetical order, even after leaving a missing group", async () => {
    for (const name of ['radio', 'club']) await records.groups.join('', ALICE.id, name)
    await records.groups.joinByHand('', ALICE.id, 'admins')
    for (const id of [ALICE.id, NOBODY]) await records.groups.leave('', id, 'nowhere')
    expect(await records.groups.allOf('', ALICE.id)).to.deep.equal(['admins', 'club', 'radio'])
  })
}
