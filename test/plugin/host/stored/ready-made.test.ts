import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import pg from 'pg'
import { openDatabase } from '../../../../fixtures/host/database.ts'
import {
  pgAccounts,
  pgUserGroups,
  type StoredAccountsOptions,
  type StoredOptions,
  sqliteAccounts,
  sqliteUserGroups,
} from '../../../../plugin/index.ts'
import { membershipsOf } from '../../../../plugin/login/groups/memberships.ts'
import { signIn } from '../../../../plugin/login/sign-in.ts'
import { errorOf } from '../../../support/error-of.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { type Postgres, startPostgres } from '../../../support/postgres.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { MINIMAL, settingsOf } from '../../config/single-domain.ts'
import { accountsContract, type StoredPeople } from '../accounts.contract.ts'

const ALICE = { id: '~oidc:a', name: 'Alice', email: null, emailVerified: null } as const
const BOB = { ...ALICE, id: '~oidc:b', name: 'Bob' } as const

/** Returns the error's code, or else its message. */
const rejected = async (work: Promise<unknown>) => {
  const error = await errorOf<Error & { code?: string }>(work)
  return error?.code ?? error?.message ?? 'resolved'
}

describe('accounts and user groups in a SQL database', () => {
  const { path } = temporaryFolder()
  /** Part of the table names, different in each test. */
  let table: string
  let postgres: Postgres
  before(async function () {
    this.timeout(60_000)
    postgres = await startPostgres()
  })
  after(() => postgres.stop())
  beforeEach(() => {
    table = `of "one" test ${randomUUID()}`
  })

  async function openSqlite(options?: StoredAccountsOptions & StoredOptions): Promise<StoredPeople> {
    const { connection, close } = await openDatabase(path('host.sqlite'))
    return { accounts: sqliteAccounts(connection, options), groups: sqliteUserGroups(connection, options), close }
  }

  function poolAt(address: string, max: number): pg.Pool {
    const pool = new pg.Pool({ connectionString: address, max })
    // The server may stop before its last connection closes.
    pool.on('connect', (client) => client.on('error', () => undefined))
    pool.on('error', () => undefined)
    return pool
  }

  /** Opens accounts and groups with a separate pool, as a process does. */
  async function openPg(options?: StoredAccountsOptions & StoredOptions): Promise<StoredPeople> {
    const pool = poolAt(postgres.address, 3)
    return {
      accounts: pgAccounts(pool, { ...options, table: `public.account ${table}`.slice(0, 60) }),
      groups: pgUserGroups(pool, { ...options, table: `membership ${table}`.slice(0, 60) }),
      close: () => pool.end(),
    }
  }

  const kinds: Readonly<Record<string, (options?: StoredAccountsOptions) => Promise<StoredPeople>>> = {
    SQLite: openSqlite,
    PostgreSQL: openPg,
  }
  for (const [kind, open] of Object.entries(kinds)) {
    describe(`accounts and user groups in ${kind}`, () => {
      accountsContract(() => open())

      // Shows: plugin 9.24.
      it('creating an account fails if its domain has reached its limit of accounts', async () => {
        const { accounts, close } = await open({ most: 1 })
        await accounts.create('small', ALICE)
        expect(await rejected(accounts.create('small', BOB))).to.equal('account_limit')
        expect(await accounts.find('small', BOB.id)).to.equal(undefined)
        expect(await rejected(accounts.create('small', ALICE))).to.match(/already exists/)
        await accounts.update('small', { ...ALICE, name: 'Alice B.' })
        await accounts.create('other', BOB)
        await close()
      })

      it('simultaneous logins create only as many accounts as the limit allows', async () => {
        const { accounts, close } = await open({ most: 3 })
        const outcomes = await Promise.allSettled(
          Array.from({ length: 8 }, (_, index) => accounts.create('small', { ...ALICE, id: `~oidc:${index}` })),
        )
        expect(outcomes.filter(({ status }) => status === 'fulfilled')).to.have.length(3)
        await close()
      })
    })
  }

  // Shows: plugin 9.24.
  it('two simultaneous first logins create one account, and both succeed', async () => {
    for (const open of Object.values(kinds)) {
      const { accounts, groups, close } = await open()
      const settings = settingsOf({ ...MINIMAL, newAccounts: true, groups: { siteadmin: 'ops', sync: true } })
      const logins = [1, 2].map(() => signIn(ALICE, membershipsOf(['ops', 'crew']), settings, { accounts, groups }))
      const results = await Promise.all(logins)
      expect(results.filter(({ created }) => created)).to.have.length(1)
      expect(await accounts.find('', ALICE.id)).to.deep.equal({ ...ALICE, siteAdmin: true })
      expect(await groups.mirroredOf('', ALICE.id)).to.have.members(['ops', 'crew'])
      await close()
    }
  })

  it('a first login fails with account_limit if the domain has too many accounts', async () => {
    const { accounts, groups, close } = await openSqlite({ most: 0 })
    const login = signIn(ALICE, [], settingsOf({ ...MINIMAL, newAccounts: true }), { accounts, groups })
    expect(await rejected(login)).to.equal('account_limit')
    await close()
  })
  for (const [kind, open] of [
    ['SQLite', openSqlite],
    ['PostgreSQL', openPg],
  ] as const) {
    it(`two processes on ${kind} never create an account twice or exceed the limit`, async () => {
      const both = [await open({ most: 4 }), await open({ most: 4 })]
      const created = async (domain: string, ids: readonly number[]) => {
        const work = both.flatMap(({ accounts }) =>
          ids.map((id) => accounts.create(domain, { ...ALICE, id: `~oidc:${id}` })),
        )
        return (await Promise.allSettled(work)).filter(({ status }) => status === 'fulfilled').length
      }
      expect(await created('', [1])).to.equal(1)
      expect(await created('small', [1, 2, 3, 4, 5, 6, 7])).to.equal(4)
      for (const { close } of both) await close()
    })
  }

  it('PostgreSQL connections return to the pool in a usable state after a failure', async () => {
    const owner = poolAt(postgres.address, 1)
    await owner.query("CREATE ROLE reader LOGIN PASSWORD 'reader'")
    const address = Object.assign(new URL(postgres.address), { username: 'reader', password: 'reader' }).href
    const pool = poolAt(address, 1)
    const accounts = pgAccounts(pool, { table })
    for (const _ of [1, 2]) expect(await rejected(accounts.find('', ALICE.id))).to.equal('42501')
    await pgAccounts(owner, { table }).create('', ALICE)
    await owner.query(`GRANT SELECT ON "${table.replaceAll('"', '""')}" TO reader`)
    expect(await accounts.find('', ALICE.id)).to.include({ name: 'Alice' })
    for (const _ of [1, 2]) expect(await rejected(accounts.create('', BOB))).to.equal('42501')
    expect(await accounts.find('', BOB.id)).to.equal(undefined)
    await Promise.all([pool.end(), owner.end()])
  })

  it('accounts are stored in the configured tables, even with unusual names', async () => {
    const { connection, all, close } = await openDatabase(path('host.sqlite'))
    await sqliteAccounts(connection, { table: 'my "accounts"; --' }).create('', ALICE)
    await sqliteUserGroups(connection, { table: 'my groups' }).join('', ALICE.id, 'staff')
    expect(await all('SELECT id FROM "my ""accounts""; --"')).to.deep.equal([{ id: ALICE.id }])
    expect(await all('SELECT group_name FROM "my groups"')).to.deep.equal([{ group_name: 'staff' }])
    await close()
  })

  it('a write fails if SQLite is busy for 10 s; a later write creates the tables', async () => {
    const file = path('host.sqlite')
    const [holder, patient, hasty] = [await openDatabase(file), await openDatabase(file), await openDatabase(file)]
    hasty.connection.configure('busyTimeout', 0)
    await holder.exec('BEGIN EXCLUSIVE')
    const groups = sqliteUserGroups(hasty.connection)
    expect(await rejected(groups.join('', ALICE.id, 'staff'))).to.equal('SQLITE_BUSY')
    const clock = new FakeClock()
    const waiting = rejected(sqliteAccounts(patient.connection, { clock }).create('', ALICE))
    await clock.advance(10_000)
    expect(await waiting).to.equal('The database of accounts and groups did not answer in time.')
    await holder.exec('COMMIT')
    await patient.close()
    await groups.join('', ALICE.id, 'staff')
    expect(await groups.mirroredOf('', ALICE.id)).to.deep.equal(['staff'])
    for (const { close } of [holder, hasty]) await close()
  })
})
