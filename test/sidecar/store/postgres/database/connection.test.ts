import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { systemClock } from '../../../../../sidecar/clock.ts'
import type { Postgres } from '../../../../../sidecar/store/postgres/database/connection.ts'
import { migrate } from '../../../../../sidecar/store/postgres/schema/migrations.ts'
import { recordedLog } from '../../../../support/recorded-log.ts'
import { until } from '../../../../support/until.ts'
import { rejection } from '../../sqlite/temporary-stores.ts'
import { hastened, ownDatabase, runAt } from '../shared-server.ts'

const HASTY = hastened(50)

describe('The connections to PostgreSQL', () => {
  const database = ownDatabase()
  const { log, logged, shown } = recordedLog()
  before(async () => migrate(await connect(systemClock)))

  const connect = (clock = HASTY, address = database.address) => database.connect(clock, log, address)

  it('PostgreSQL connections return numbers, bytes and arrays unchanged, with JIT off', async () => {
    const { query } = await connect()
    const bytes = Buffer.from([...Array(256).keys()])
    const values = [2 ** 52, [0, 2 ** 52], bytes, [bytes, Buffer.alloc(0)], ['a"b\\,{}', '']]
    const [row] = await query<object>(
      'SELECT $1::bigint a, $2::bigint[] b, $3::bytea c, $4::bytea[] d, $5::text[] e',
      values,
    )
    expect(Object.values(row ?? {})).to.deep.equal(values)
    expect(await query("SELECT current_setting('jit') AS jit, current_schema() AS schema")).to.deep.equal([
      { jit: 'off', schema: 'mesh_companion' },
    ])
  })

  it('reconnects after PostgreSQL kills connections, and rejects the running statement', async () => {
    const { query } = await connect()
    await query('SELECT 1 AS one')
    await failUnderWay(query)
    expect(await query('SELECT 1 AS one')).to.deep.equal([{ one: 1 }])
  })

  it('sets up several PostgreSQL connections in parallel', async () => {
    const { query } = await connect()
    const unlock = await database.hold('BEGIN; LOCK TABLE mesh_companion.clock')
    const pending = Promise.all(Array.from({ length: 4 }, () => query('SELECT 1 AS one')))
    await until('four reads of the clock', async () => (await active('SELECT timeline FROM clock')) === 4)
    await unlock()
    expect(await pending).to.deep.equal(Array(4).fill([{ one: 1 }]))
  })

  it('replaces all connections if the database proves to be read-only', async () => {
    const { query, fault, probe } = await connect()
    await probe()
    const write = 'UPDATE clock SET per_station = per_station'
    const pids = async () => {
      const pending = Array.from({ length: 6 }, () =>
        query<{ pid: number }>('SELECT pg_backend_pid() AS pid, pg_sleep(0.02)'),
      )
      return (await Promise.all(pending)).flat().map(({ pid }) => pid)
    }
    const name = new URL(database.address).pathname.slice(1)
    const beside = database.address.replace(/[^/]*$/, 'postgres')
    database.closing.push(() => runAt(beside, `ALTER DATABASE ${name} RESET default_transaction_read_only`))
    await runAt(beside, `ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    const earlier = await pids()
    // New connections are read-only. The first connection is older than the setting, so a write may succeed there.
    const refusals = await Promise.all(Array.from({ length: 4 }, () => query(write).catch(({ code }) => code)))
    expect(refusals).to.include('database_read_only')
    expect((await pids()).filter((pid) => earlier.includes(pid))).to.deep.equal([])
    expect(fault()).to.equal('database_read_only')
    // Existing connections stay read-only: the setting applies only to new ones.
    await runAt(beside, `ALTER DATABASE ${name} RESET default_transaction_read_only`)
    await logged('store-write-recovered')
    expect(fault()).to.equal(undefined)
    await query(write)
  })

  it('logs a database outage once, tries to reconnect each second, and logs the end', async () => {
    const { relay, address } = await database.relayed()
    const { query, fault, probe } = await connect(HASTY, address)
    await query('SELECT 1')
    await relay.cut()
    for (let times = 0; times < 3; times += 1) await rejection(query('SELECT 1'))
    await probe()
    expect(fault()).to.equal('database_unreachable')
    await relay.mend()
    await logged('store-write-recovered')
    expect(fault()).to.equal(undefined)
    expect(shown('event')).to.deep.equal(['store-write-failed', 'store-write-recovered'])
  })

  it('tries one write at a time while the database accepts no writes', async () => {
    const planned: (() => void)[] = []
    const { query, fault, probe } = await connect({
      ...systemClock,
      after(_, task) {
        planned.push(task)
        return { cancel: () => undefined }
      },
    })
    await probe()
    const unlock = await lockClock()
    await failUnderWay(query)
    expect(planned).to.have.lengthOf(1)
    planned.shift()?.()
    const probes = [probe(), probe()]
    await until('a write', async () => (await active('try_to_store')) > 0)
    await failUnderWay(query)
    expect(planned).to.have.lengthOf(0)
    await unlock()
    await Promise.all(probes)
    expect(fault()).to.equal(undefined)
    expect(await count('try_to_store')).to.equal(1)
  })

  it('writes use at most four of six connections; reads may use all six', async () => {
    const { query, read } = await connect()
    const unlock = await lockClock()
    const writes = Array.from({ length: 20 }, () => query('UPDATE clock SET per_station = per_station'))
    const written = Promise.allSettled(writes)
    await until('four writes of the clock', async () => (await active('UPDATE clock')) === 4)
    expect(await read('SELECT 1 AS one')).to.deep.equal([{ one: 1 }])
    await unlock()
    await written
    const release = await database.hold('SELECT pg_advisory_lock(1)')
    const reads = Promise.all(Array.from({ length: 8 }, () => read('SELECT pg_advisory_lock_shared(1)')))
    await until('six locks', async () => (await active('pg_advisory_lock_shared')) === 6)
    await release()
    await reads
  })

  it('on a dedicated connection, PostgreSQL cancels a long statement after 10 min', async () => {
    const { onOwnConnection } = await connect()
    const [limit] = await onOwnConnection(({ query }) => query("SELECT current_setting('statement_timeout') AS most"))
    expect(limit).to.deep.equal({ most: '10min' })
  })

  it('PostgreSQL connections send keepalives after 10 s of silence', async function () {
    if (process.platform !== 'linux') {
      console.log('      left out: only the tables of Linux show the timers of connections')
      this.skip()
    }
    const postgres = await connect()
    await postgres.onOwnConnection(async ({ query }) => {
      await Promise.all([postgres.query('SELECT 1'), postgres.read('SELECT 1'), query('SELECT 1')])
      const port = Number(new URL(database.address).port).toString(16).toUpperCase().padStart(4, '0')
      const product = new RegExp(`^ *\\d+: \\S+ \\S+:${port} 01 \\S+ 02:(\\S+)`, 'gm')
      const timers = [...(await readFile('/proc/net/tcp', 'utf8')).matchAll(product)]
      // Timers are in hundredths of a second. The server may also have connections of other tests.
      expect(timers.filter(([, left]) => Number.parseInt(left ?? '', 16) <= 1000)).to.have.lengthOf.at.least(3)
    })
  })

  it('a statement that the database refuses does not count as a fault of the database', async () => {
    const { query, fault } = await connect()
    expect((await rejection(query('SELECT 1 / 0'))).code).to.equal('store_fault')
    expect((await rejection(query('SELECT $1::text', ['\0']))).code).to.equal('store_fault')
    expect(fault()).to.equal(undefined)
  })

  it('listeners get each NOTIFY, and are called after the connection is restored', async () => {
    const { relay, address } = await database.relayed()
    const postgres = await connect(HASTY, address)
    let heard = 0
    let onHeard: (() => void) | undefined
    const times = (count: number) =>
      new Promise<void>((resolve) => {
        onHeard = () => heard >= count && resolve()
        onHeard()
      })
    postgres.listen('anything', () => {
      heard += 1
      onHeard?.()
    })
    await times(1)
    await database.run('NOTIFY anything')
    await times(2)
    await kill('LISTEN anything')
    await times(3)
    await relay.cut()
    for (let tries = 0; tries < 30; tries += 1) await postgres.probe()
    await relay.mend()
    await times(4)
  })

  it('closing connections is idempotent, and ends statements even if PostgreSQL hangs', async () => {
    const postgres = await connect()
    postgres.listen('anything', () => undefined)
    const hanging = rejection(postgres.query('SELECT pg_sleep(60)'))
    await until('a query', async () => (await active('pg_sleep')) > 0)
    await Promise.all([postgres.close(), postgres.close()])
    expect((await hanging).code).to.equal('database_unreachable')
    expect((await rejection(postgres.query('SELECT 1'))).code).to.equal('store_closed')
  })

  async function failUnderWay(query: Postgres['query']): Promise<void> {
    const failed = rejection(query('SELECT pg_sleep(60)'))
    await until('a query to end', async () => (await kill('pg_sleep')) > 0)
    expect((await failed).code).to.equal('database_unreachable')
  }

  const lockClock = () => database.hold('BEGIN; SELECT FROM mesh_companion.clock FOR UPDATE')

  const connectionsWith = (text: string) =>
    `FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%${text}%'`
  const count = async (text: string) => (await database.run(`SELECT 1 ${connectionsWith(text)}`)).length
  const active = async (text: string) =>
    (await database.run(`SELECT 1 ${connectionsWith(text)} AND state = 'active'`)).length
  const kill = async (text: string) =>
    (await database.run(`SELECT pg_terminate_backend(pid) ${connectionsWith(text)}`)).length
})
