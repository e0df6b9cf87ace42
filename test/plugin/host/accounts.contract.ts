import { expect } from 'chai'
import type { Records } from '../../../fixtures/host/records.ts'
import type { Profile, UserId } from '../../../plugin/host/port.ts'

const ALICE: Profile = { id: '~oidc:a/1 ü', name: 'Alice', email: 'alice@example.test', emailVerified: true }
const BOB: Profile = { id: '~oidc:b', name: 'Bob', email: null, emailVerified: false }
const NOBODY: UserId = '~oidc:nobody'

/** What every implementation of accounts and user groups has to do. `open` starts with no records each time. */
export function accountsContract(open: () => Promise<Records>): void {
  let records: Records
  beforeEach(async () => {
    records = await open()
    await records.accounts.create('', ALICE)
    await records.accounts.create('', BOB)
  })
  afterEach(() => records.close())

  const rejected = async (work: Promise<unknown>) =>
    work.then(
      () => 'resolved',
      (error: Error) => error.message,
    )

  it('finds an account as it was created, without rights', async () => {
    expect(await records.accounts.find('', ALICE.id)).to.deep.equal({
      id: ALICE.id,
      name: 'Alice',
      email: 'alice@example.test',
      siteAdmin: false,
    })
    expect((await records.accounts.find('', BOB.id))?.email).to.equal(null)
    expect(await records.accounts.find('', NOBODY)).to.equal(undefined)
  })

  it('keeps what the IdP says of an address: verified, not verified, or nothing', async () => {
    for (const emailVerified of [true, false, null]) {
      await records.accounts.update('', { ...ALICE, emailVerified })
      expect(await records.emailVerifiedOf('', ALICE.id)).to.equal(emailVerified)
    }
    const id = '~oidc:new'
    await records.accounts.create('', { ...ALICE, id, emailVerified: null })
    expect(await records.emailVerifiedOf('', id)).to.equal(null)
    expect(await rejected(records.emailVerifiedOf('', NOBODY))).to.match(/no such account/)
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
    await records.createGroup('', 'staff')
    await records.groups.join('customer', ALICE.id, 'staff')
    expect(await records.groups.mirroredOf('', ALICE.id)).to.deep.equal([])
  })

  it('does not overwrite an account that exists by now', async () => {
    expect(await rejected(records.accounts.create('', { ...ALICE, name: 'Mallory' }))).to.match(/exists by now/)
    expect((await records.accounts.find('', ALICE.id))?.name).to.equal('Alice')
  })

  it('creates an account once when two logins race', async () => {
    const carol = { ...BOB, id: '~oidc:c' } as const
    const outcomes = await Promise.allSettled([1, 2, 3].map(() => records.accounts.create('', carol)))
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).to.have.length(1)
  })

  it('updates name and address and leaves rights and memberships alone', async () => {
    await records.accounts.setSiteAdmin('', ALICE.id, true)
    await records.groups.join('', ALICE.id, 'staff')
    await records.accounts.update('', { ...ALICE, name: 'Alice B.', email: null })

    const account = await records.accounts.find('', ALICE.id)
    expect(account).to.deep.equal({ id: ALICE.id, name: 'Alice B.', email: null, siteAdmin: true })
    expect(await records.groups.mirroredOf('', ALICE.id)).to.deep.equal(['staff'])
  })

  it('gives and takes site admin rights', async () => {
    await records.accounts.setSiteAdmin('', ALICE.id, true)
    expect((await records.accounts.find('', ALICE.id))?.siteAdmin).to.equal(true)
    expect((await records.accounts.find('', BOB.id))?.siteAdmin).to.equal(false)
    await records.accounts.setSiteAdmin('', ALICE.id, false)
    expect((await records.accounts.find('', ALICE.id))?.siteAdmin).to.equal(false)
  })

  it('rejects changes of an account that is not there', async () => {
    for (const work of [
      records.accounts.update('', { ...BOB, id: NOBODY }),
      records.accounts.setSiteAdmin('', NOBODY, true),
      records.groups.join('', NOBODY, 'staff'),
      records.createGroup('', 'staff', [NOBODY]),
    ]) {
      expect(await rejected(work)).to.equal('There is no such account.')
    }
    // Nothing half done is left behind: the name is still free.
    await records.createGroup('', 'staff')
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
  })

  it('mirrors an emptied group again', async () => {
    await records.groups.join('', ALICE.id, 'staff')
    await records.groups.leave('', ALICE.id, 'staff')
    await records.groups.join('', BOB.id, 'staff')
    expect(await records.groups.mirroredOf('', BOB.id)).to.deep.equal(['staff'])
  })

  it('never takes over a group made by hand, and mirrors that of its name beside it', async () => {
    await records.createGroup('', 'staff', [BOB.id])

    await records.groups.join('', ALICE.id, 'staff')
    await records.groups.leave('', BOB.id, 'staff')
    expect(await records.groups.mirroredOf('', ALICE.id)).to.deep.equal(['staff'])
    expect(await records.groups.mirroredOf('', BOB.id)).to.deep.equal([])
    expect(await records.groupsOf('', BOB.id)).to.deep.equal(['staff'])
    await records.groups.join('', BOB.id, 'staff')
    expect(await records.groupsOf('', BOB.id)).to.deep.equal(['staff', 'staff'])
    await records.groups.leave('', BOB.id, 'staff')
    expect(await records.groupsOf('', BOB.id)).to.deep.equal(['staff'])
  })

  it('refuses to make two groups by hand under one name', async () => {
    await records.groups.join('', ALICE.id, 'staff')
    await records.createGroup('', 'staff')
    expect(await rejected(records.createGroup('', 'staff'))).to.equal('A group bears this name.')
    expect(await records.groups.mirroredOf('', ALICE.id)).to.deep.equal(['staff'])
  })

  it('tells groups apart to the letter', async () => {
    await records.groups.join('', BOB.id, 'Staff')
    await records.groups.join('', ALICE.id, 'staff')
    await records.groups.leave('', BOB.id, 'staff')
    expect(await records.groups.mirroredOf('', BOB.id)).to.deep.equal(['Staff'])
    expect(await records.groups.mirroredOf('', ALICE.id)).to.deep.equal(['staff'])
  })

  it('lists all groups of a user in alphabetical order', async () => {
    await records.groups.join('', ALICE.id, 'radio')
    await records.createGroup('', 'admins', [ALICE.id, BOB.id])
    await records.groups.join('', ALICE.id, 'club')
    expect(await records.groupsOf('', ALICE.id)).to.deep.equal(['admins', 'club', 'radio'])
  })

  it('lets a user leave where there is nothing to leave', async () => {
    await records.groups.leave('', ALICE.id, 'nowhere')
    await records.groups.leave('', NOBODY, 'nowhere')
  })

  it('can be closed twice', async () => {
    await records.close()
    await records.close()
  })
}
