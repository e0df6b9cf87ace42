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

/** What every implementation of accounts and user groups has to do. `open` starts with no records each time. */
export function accountsContract(open: () => Promise<StoredPeople>): void {
  let records: StoredPeople
  beforeEach(async () => {
    records = await open()
    await records.accounts.create('', ALICE)
    await records.accounts.create('', BOB)
  })
  afterEach(() => records.close())

  it('finds an account as it was created, without rights', async () => {
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

  it('keeps what the IdP says of an address: verified, not verified, or nothing', async () => {
    for (const emailVerified of [true, false, null]) {
      await records.accounts.update('', { ...ALICE, emailVerified })
      expect(await records.accounts.find('', ALICE.id)).to.include({ emailVerified })
    }
    const id = '~oidc:new'
    await records.accounts.create('', { ...ALICE, id, emailVerified: null })
    expect(await records.accounts.find('', id)).to.include({ emailVerified: null })
  })

  it('tells ids apart to the letter', async () => {
    expect(await records.accounts.find('', '~oidc:B')).to.equal(undefined)
    await records.accounts.create('', { ...BOB, id: '~oidc:B' })
    expect((await records.accounts.find('', '~oidc:B'))?.id).to.equal('~oidc:B')
  })

  it('keeps domains apart', async () => {
    expect(await records.accounts.find('customer', ALICE.id)).to.equal(undefined)
    await records.accounts.create('customer', { ...ALICE, name: 'Other Alice' })
    await records.accounts.setSiteAdmin('customer', ALICE.id, true)
    await records.groups.join('customer', ALICE.id, 'staff')

    expect(await records.accounts.find('', ALICE.id)).to.include({ name: 'Alice', siteAdmin: false })
    expect(await records.groups.mirroredOf('', ALICE.id)).to.deep.equal([])
    await records.groups.joinByHand('customer', ALICE.id, 'crew')
    expect(await records.groups.allOf('', ALICE.id)).to.deep.equal([])
  })

  it('does not overwrite an account that exists by now', async () => {
    expect(await messageOf(records.accounts.create('', { ...ALICE, name: 'Mallory' }))).to.match(/already exists/)
    expect((await records.accounts.find('', ALICE.id))?.name).to.equal('Alice')
  })

  it('updates name and address and leaves rights and memberships alone', async () => {
    await records.accounts.setSiteAdmin('', ALICE.id, true)
    await records.groups.join('', ALICE.id, 'staff')
    await records.accounts.update('', { ...ALICE, name: 'Alice B.', email: null })

    const account = await records.accounts.find('', ALICE.id)
    expect(account).to.deep.equal({ id: ALICE.id, name: 'Alice B.', email: null, siteAdmin: true, emailVerified: true })
    expect(await records.groups.mirroredOf('', ALICE.id)).to.deep.equal(['staff'])
  })

  it('remembers the issuer of the last login, and keeps it where a login names none', async () => {
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

  it('gives and takes site admin rights', async () => {
    for (const siteAdmin of [true, false]) {
      await records.accounts.setSiteAdmin('', ALICE.id, siteAdmin)
      expect(await records.accounts.find('', ALICE.id)).to.include({ siteAdmin })
      expect(await records.accounts.find('', BOB.id)).to.include({ siteAdmin: false })
    }
  })

  it('rejects changes of an account that is not there', async () => {
    for (const work of [
      records.accounts.update('', { ...BOB, id: NOBODY }),
      records.accounts.setSiteAdmin('', NOBODY, true),
    ]) {
      expect(await messageOf(work)).to.equal('The account does not exist.')
    }
    expect(await records.accounts.find('', NOBODY)).to.equal(undefined)
  })

  it('loses none of the changes that come at once', async () => {
    const names = Array.from({ length: 20 }, (_, at) => `group ${at}`)
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

  it('makes a mirrored group when the first member joins, and lets others join and leave', async () => {
    await records.groups.join('', ALICE.id, 'staff')
    await records.groups.join('', ALICE.id, 'staff')
    await records.groups.join('', BOB.id, 'staff')
    await records.groups.join('', BOB.id, "it's 100% 'quoted'")

    expect(await records.groups.mirroredOf('', ALICE.id)).to.deep.equal(['staff'])
    expect(await records.groups.mirroredOf('', BOB.id)).to.have.members(['staff', "it's 100% 'quoted'"])
    await records.groups.leave('', BOB.id, 'staff')
    expect(await records.groups.mirroredOf('', BOB.id)).to.deep.equal(["it's 100% 'quoted'"])
    expect(await records.groups.mirroredOf('', ALICE.id)).to.deep.equal(['staff'])
    // The last of its members, and a first one again.
    await records.groups.leave('', ALICE.id, 'staff')
    await records.groups.join('', ALICE.id, 'staff')
    expect(await records.groups.mirroredOf('', ALICE.id)).to.deep.equal(['staff'])
  })

  // Shows: plugin 6.10, 9.24.
  it('never takes over a group made by hand, and mirrors that of its name beside it', async () => {
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

  it('takes what means something to JavaScript for names like any other', async () => {
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

  it('takes no two different pairs of domain and id for one', async () => {
    for (const between of ['/', ' ', ',', '"', '","', '\\', ':', '\n']) {
      await records.accounts.create(`x${between}~oidc:y`, { ...BOB, id: '~oidc:z', name: 'one' })
      await records.accounts.create('x', { ...BOB, id: `~oidc:y${between}~oidc:z`, name: 'other' })
      await records.groups.join(`x${between}~oidc:y`, '~oidc:z', 'staff')
      expect(await records.groups.allOf('x', `~oidc:y${between}~oidc:z`), between).to.deep.equal([])
    }
  })

  it('tells groups apart to the letter', async () => {
    await records.groups.join('', BOB.id, 'Staff')
    await records.groups.join('', ALICE.id, 'staff')
    await records.groups.leave('', BOB.id, 'staff')
    expect(await records.groups.mirroredOf('', BOB.id)).to.deep.equal(['Staff'])
    expect(await records.groups.mirroredOf('', ALICE.id)).to.deep.equal(['staff'])
  })

  it('lists all groups of a user in alphabetical order, and lets one leave where there is nothing to leave', async () => {
    for (const name of ['radio', 'club']) await records.groups.join('', ALICE.id, name)
    await records.groups.joinByHand('', ALICE.id, 'admins')
    for (const id of [ALICE.id, NOBODY]) await records.groups.leave('', id, 'nowhere')
    expect(await records.groups.allOf('', ALICE.id)).to.deep.equal(['admins', 'club', 'radio'])
  })
}
