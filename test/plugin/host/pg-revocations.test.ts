import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import pg from 'pg'
import { pgRevocations } from '../../../plugin/host/pg-revocations.ts'
import { type Postgres, startPostgres } from '../../support/postgres.ts'
import { sharedStoreContract } from './revocation-store.contract.ts'

const HOUR_MS = 3_600_000

describe('revocations in PostgreSQL', () => {
  let postgres: Postgres
  let pools: pg.Pool[]
  const pool = (address = postgres.address) => {
    const opened = new pg.Pool({ connectionString: address, max: 2 })
    // The server may stop before its last connection closes.
    opened.on('connect', (client) => client.on('error', () => undefined))
    opened.on('error', () => undefined)
    pools.push(opened)
    return opened
  }

  before(async function () {
    this.timeout(60_000)
    postgres = await startPostgres()
  })
  after(() => postgres.stop())
  beforeEach(() => {
    pools = []
  })
  afterEach(() => Promise.all(pools.map((opened) => opened.end())))

  sharedStoreContract((now) => pgRevocations(pool(), now ? { now } : {}))

  it('processes that start at the same time create the table of revocations once', async () => {
    const table = `revocation ${randomUUID()}`
    const stores = Array.from({ length: 8 }, () => pgRevocations(pool(), { table }))
    await Promise.all(stores.map((store) => store.revoke(['a key'], 1000, Date.now() + HOUR_MS)))
    expect(await stores[0]?.endedAt(['a key'])).to.equal(1000)
  })

  it('a PostgreSQL role needs no right to create tables if the table exists', async () => {
    const owner = pool()
    await pgRevocations(owner, { table: 'public.given' }).endedAt([])
    await owner.query(
      `CREATE ROLE poor LOGIN PASSWORD 'poor'; GRANT SELECT, INSERT, UPDATE, DELETE ON public.given TO poor`,
    )
    const address = new URL(postgres.address)
    address.username = 'poor'
    address.password = 'poor'
    const store = pgRevocations(pool(address.href), { table: 'public.given' })
    await store.revoke(['a key'], 1000, Date.now() + HOUR_MS)
    expect(await store.endedAt(['a key'])).to.equal(1000)
    const withoutTable = pgRevocations(pool(address.href), { table: 'public.missing' })
    expect(await withoutTable.endedAt([]).catch((error: Error) => error.message)).to.match(/permission denied/)
  })

  it('creates the table of revocations later if the first attempt failed', async () => {
    const owner = pool()
    const store = pgRevocations(owner, { table: 'later.revocation' })
    expect(await store.endedAt([]).catch((error: Error) => error.message)).to.match(/later/)
    await owner.query('CREATE SCHEMA later')
    expect(await store.endedAt([])).to.equal(undefined)
  })

  it('expired revocations are deleted one hour after the previous cleanup', async () => {
    let clock = Date.now() - 2 * HOUR_MS
    const table = 'cleaned'
    const owner = pool()
    const store = pgRevocations(owner, { table, now: () => clock })
    await store.revoke(['short'], clock, clock + 1000)
    await store.once?.('short', clock + 1000)
    await store.revoke(['long'], clock, clock + 2 * HOUR_MS)
    clock += HOUR_MS
    await store.revoke(['another'], clock, clock + HOUR_MS)
    const { rows } = await owner.query(`SELECT key FROM ${table} ORDER BY key`)
    expect(rows).to.deep.equal([{ key: 'another' }, { key: 'long' }])
  })

  it('an unexpired revocation is kept if the clock is ahead of the database clock', async () => {
    const clock = Date.now()
    const table = 'ahead'
    await pgRevocations(pool(), { table }).revoke(['a key'], clock, clock + HOUR_MS)
    const store = pgRevocations(pool(), { table, now: () => clock + 1000 * HOUR_MS })
    await store.revoke(['another'], clock, clock + HOUR_MS)
    expect(await store.endedAt(['a key'])).to.equal(clock)
  })

  it('a reserved one-time key can be reserved again after it expired', async () => {
    let clock = Date.now()
    const store = pgRevocations(pool(), { now: () => clock })
    const key = randomUUID()
    expect(await store.once?.(key, clock + 1000)).to.equal(true)
    clock += 999
    expect(await store.once?.(key, clock + 1000)).to.equal(false)
    clock += 1
    expect(await store.once?.(key, clock + 1000)).to.equal(true)
  })
})
