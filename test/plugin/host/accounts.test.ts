import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { recordsInMemory } from '../../../fixtures/host/accounts-memory.ts'
import { openRecords } from '../../../fixtures/host/accounts-sqlite.ts'
import { openDatabase } from '../../../fixtures/host/database.ts'
import type { Records } from '../../../fixtures/host/records.ts'
import { accountsContract } from './accounts.contract.ts'

describe('Records of the reference host in memory', () => {
  accountsContract(async () => recordsInMemory())
  describe('groups made by hand', () => groupsByHand(async () => recordsInMemory()))
})

describe('Records of the reference host in SQLite', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'host-accounts-'))
  })
  afterEach(() => rm(folder, { recursive: true }))
  const open = () => openRecords(join(folder, 'data', 'host.sqlite'))

  accountsContract(open)
  describe('groups made by hand', () => groupsByHand(open))

  it('outlive a restart', async () => {
    const profile = { id: '~oidc:a', name: 'Alice', email: null, emailVerified: false } as const
    const before = await open()
    await before.accounts.create('', profile)
    await before.accounts.setSiteAdmin('', profile.id, true)
    await before.groups.join('', profile.id, 'staff')
    await before.close()

    const after = await open()
    expect(await after.accounts.find('', profile.id)).to.include({ name: 'Alice', siteAdmin: true })
    expect(await after.groups.mirroredOf('', profile.id)).to.deep.equal(['staff'])
    await after.close()
  })

  it('can be shared by two processes', async () => {
    const [one, two] = [await open(), await open()]
    const profiles = Array.from({ length: 20 }, (_, at) => ({
      id: `~oidc:${at}` as const,
      name: 'Somebody',
      email: null,
      emailVerified: false,
    }))
    await Promise.all(profiles.flatMap((profile, at) => (at % 2 ? one : two).accounts.create('', profile)))
    await Promise.all(profiles.map(({ id }, at) => (at % 2 ? two : one).groups.join('', id, 'staff')))
    for (const { id } of profiles) expect(await one.groups.mirroredOf('', id)).to.deep.equal(['staff'])
    await one.close()
    await two.close()
  })

  for (const [version, verified] of [
    [1, 'INTEGER NOT NULL'],
    [2, 'INTEGER'],
  ] as const) {
    it(`of version ${version} keep all that they had, can be unsure of an address and have groups of one name from then on`, async () => {
      const id = '~oidc:a'
      const file = join(folder, 'host.sqlite')
      const database = await openDatabase(file)
      await database.exec(`
        CREATE TABLE accounts (domain TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, email TEXT,
          email_verified ${verified}, site_admin INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (domain, id)) STRICT, WITHOUT ROWID;
        CREATE TABLE user_groups (domain TEXT NOT NULL, name TEXT NOT NULL, mirrored INTEGER NOT NULL,
          PRIMARY KEY (domain, name)) STRICT, WITHOUT ROWID;
        CREATE TABLE memberships (domain TEXT NOT NULL, user_id TEXT NOT NULL, group_name TEXT NOT NULL,
          PRIMARY KEY (domain, user_id, group_name),
          FOREIGN KEY (domain, user_id) REFERENCES accounts (domain, id),
          FOREIGN KEY (domain, group_name) REFERENCES user_groups (domain, name)) STRICT, WITHOUT ROWID;
        INSERT INTO accounts VALUES ('', '${id}', 'Alice', 'a@b.c', 1, 1);
        INSERT INTO user_groups VALUES ('', 'staff', 1), ('', 'crew', 0);
        INSERT INTO memberships VALUES ('', '${id}', 'staff'), ('', '${id}', 'crew');
        PRAGMA user_version = ${version}`)
      await database.close()

      const after = await openRecords(file)
      expect(await after.accounts.find('', id)).to.deep.equal({
        id,
        name: 'Alice',
        email: 'a@b.c',
        emailVerified: true,
        siteAdmin: true,
      })
      expect(await after.groups.mirroredOf('', id)).to.deep.equal(['staff'])
      expect(await after.groups.allOf('', id)).to.deep.equal(['crew', 'staff'])
      await after.accounts.update('', { id, name: 'Alice', email: 'a@b.c', emailVerified: null })
      expect(await after.accounts.find('', id)).to.include({ emailVerified: null })
      await after.groups.join('', id, 'crew')
      expect(await after.groups.allOf('', id)).to.deep.equal(['crew', 'crew', 'staff'])
      await after.groups.leave('', id, 'staff')
      await after.close()
      const again = await openRecords(file)
      expect(await again.groups.allOf('', id)).to.deep.equal(['crew', 'crew'])
      await again.close()
    })
  }

  it('are left alone when a newer version wrote them', async () => {
    await (await open()).close()
    const database = await openDatabase(join(folder, 'data', 'host.sqlite'))
    await database.exec('PRAGMA user_version = 99')
    await database.close()
    const refusal = await open().catch((error: Error) => error.message)
    expect(refusal).to.equal('A newer version of the host wrote the accounts file.')
  })

  it('say why they cannot be opened', async () => {
    const refusal = (file: string) => openRecords(file).catch((error: { code: string }) => error.code)
    expect(await refusal(folder)).to.equal('SQLITE_CANTOPEN')
    await writeFile(join(folder, 'letter.txt'), 'Dear database, '.repeat(100))
    expect(await refusal(join(folder, 'letter.txt'))).to.equal('SQLITE_NOTADB')
  })
})

function groupsByHand(open: () => Promise<Records>): void {
  const alice = { id: '~oidc:a', name: 'Alice', email: null, emailVerified: false } as const
  let records: Records
  beforeEach(async () => {
    records = await open()
    await records.accounts.create('', alice)
  })
  afterEach(() => records.close())
  const rejected = (work: Promise<unknown>) =>
    work.then(
      () => 'resolved',
      (error: Error) => error.message,
    )

  it('refuse to be two under one name', async () => {
    await records.groups.join('', alice.id, 'staff')
    await records.createGroup('', 'staff', [alice.id])
    expect(await rejected(records.createGroup('', 'staff'))).to.equal('A group bears this name.')
    await records.createGroup('customer', 'staff')
    expect(await records.groups.mirroredOf('', alice.id)).to.deep.equal(['staff'])
    expect(await records.groups.allOf('', alice.id)).to.deep.equal(['staff', 'staff'])
  })

  it('have members with accounts only, as mirrored ones have', async () => {
    for (const work of [
      records.groups.join('', '~oidc:nobody', 'staff'),
      records.groups.joinByHand('', '~oidc:nobody', 'staff'),
      records.createGroup('', 'staff', ['~oidc:nobody']),
    ]) {
      expect(await rejected(work)).to.equal('There is no such account.')
    }
    // Nothing half done is left behind: the name is still free.
    await records.createGroup('', 'staff')
  })
}
