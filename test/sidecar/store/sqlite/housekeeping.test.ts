import { expect } from 'chai'
import type { Store } from '../../../../sidecar/messages/store.ts'
import type { Connection, SqlValue } from '../../../../sidecar/store/sqlite/database/connection.ts'
import { openFile } from '../../../../sidecar/store/sqlite/database/open-file.ts'
import { buildStore } from '../../../../sidecar/store/sqlite/open-sqlite.ts'
import { housekeepingContract } from '../contract/housekeeping.contract.ts'
import { append, message, newer, register, registration, SETTINGS, temporaryStores } from './temporary-stores.ts'

const NEVER = new AbortController().signal
const HOUR = 3_600_000

describe('The housekeeping of the store', () => housekeepingContract(temporaryStores()))

describe('The housekeeping of the store in SQLite', () => {
  const stores = temporaryStores()
  const closing: Store[] = []
  afterEach(async () => {
    for (const store of closing.splice(0)) await store.close()
  })

  it('housekeeping keeps a station whose recent heartbeat is not yet written', async () => {
    const store = await stores.openWith('N1CALL')
    await stores.clock.advance(HOUR / 2)
    await register(store, 'N1CALL')
    expect(await store.housekeeping.expire(stores.clock.now(), NEVER)).to.equal(0)
    expect(await store.stations.remove('N1CALL', { seenBeforeMs: stores.clock.now() })).to.equal('none')
    expect(await store.stations.remove('N1CALL')).to.equal('station')
  })

  it('a station stays registered if it registers just before or after it expires', async () => {
    const store = await stores.openWith('N1CALL')
    await stores.clock.advance(2 * HOUR)
    const changed = registration('N1CALL', { pushToken: 'another' })
    const [, expired] = await Promise.all([
      store.stations.register(changed),
      store.housekeeping.expire(stores.clock.now(), NEVER),
    ])
    expect(expired).to.equal(0)
    expect(store.stations.get('N1CALL')?.devices[0]?.pushToken).to.equal('another')

    await stores.clock.advance(2 * HOUR)
    const [removed, outcome] = await Promise.all([
      store.housekeeping.expire(stores.clock.now(), NEVER),
      store.stations.register(changed),
    ])
    expect(removed).to.equal(1)
    expect(outcome.kind).to.equal('created')
    expect(store.stations.size).to.equal(1)
  })

  // Shows: sidecar C11.4.
  it('removes rows of a station that another program deleted, and no others', async () => {
    const { store, connection } = await stores.openOver({ history: { ...SETTINGS.history, perStation: 5000 } })
    const avatar = { icon: 'car', image: '', hash: 'icon:car' }
    for (const key of ['N1CALL', 'N2CALL', 'N3CALL']) await store.stations.register(registration(key, { avatar }))
    const many = Array.from({ length: 1200 }, (_, index) => message(`number ${index}`, { to: 'N2CALL' }))
    await append(store, ...many)
    await append(store, message('kept', { to: 'N1CALL' }), message('kept', { to: 'N3CALL' }))
    // The sqlite3 command does not enforce foreign keys by default either.
    await connection.exec(
      `PRAGMA foreign_keys = OFF; DELETE FROM station WHERE key = 'N2CALL'; PRAGMA foreign_keys = ON`,
    )

    expect(await store.housekeeping.tidy(NEVER)).to.equal(1202)
    const [remaining] = await connection.all(
      `SELECT (SELECT count(*) FROM device) AS devices, (SELECT count(*) FROM avatar) AS avatars,
        (SELECT count(*) FROM message) AS messages`,
    )
    expect(remaining).to.deep.equal({ devices: 2, avatars: 2, messages: 2 })
    expect(await connection.all('PRAGMA foreign_key_check')).to.deep.equal([])
    expect(await store.housekeeping.tidy(NEVER)).to.equal(0)
  })

  // Shows: sidecar C11.5.
  it('housekeeping checkpoints the whole write-ahead log into the file', async () => {
    const { store, connection } = await stores.openOverWith('N1CALL')
    await store.housekeeping.tidy(NEVER)
    const [log] = await connection.all<{ log: number }>('PRAGMA wal_checkpoint(PASSIVE)')
    expect(log?.log).to.equal(0)
    expect(await store.housekeeping.sizeBytes()).to.be.above(4096)
  })

  it('housekeeping runs without error on a database in memory', async () => {
    const store = await stores.open({}, ':memory:')
    await register(store, 'N1CALL')
    expect(await store.housekeeping.tidy(NEVER)).to.equal(0)
    expect(await store.housekeeping.sizeBytes()).to.be.above(4096)
  })

  describe('SQLite housekeeping with 5,000 messages', () => {
    const STATIONS = 100
    /** Number of messages that each transaction deleted. */
    let removed: number[]

    async function fill(): Promise<Store> {
      const firstLife = await stores.open()
      const keys = Array.from({ length: STATIONS }, (_, index) => `N${index}CALL`)
      await register(firstLife, ...keys)
      for (const to of keys)
        await append(firstLife, ...Array.from({ length: 50 }, (_, index) => message(`number ${index}`, { to })))
      await firstLife.close()
      await stores.clock.advance(1000 * HOUR)
      const file = await openFile(stores.path())
      removed = []
      const counted: Connection = {
        ...file,
        async all<Row>(sql: string, ...values: readonly SqlValue[]) {
          if (sql.startsWith('BEGIN')) removed.push(0)
          if (sql.includes('DELETE FROM message')) removed.push((removed.pop() ?? 0) + rowsIn(values[0]))
          return file.all<Row>(sql, ...values)
        },
      }
      const store = await buildStore(counted, stores.path(), SETTINGS, stores.clock, stores.log)
      closing.push(store)
      return store
    }

    const rowsIn = (times: SqlValue | undefined): number => (JSON.parse(`${times}`) as readonly number[]).length

    // Shows: sidecar C11.6.
    it('expiry removes 100 messages at a time, and serves requests in between', async () => {
      const store = await fill()
      await stores.clock.advance(1)
      await register(store, 'W9ME')
      removed.length = 0
      let over = false
      const expiring = store.housekeeping.expire(stores.clock.now(), NEVER).finally(() => {
        over = true
      })
      let requests = 0
      while (!over) {
        const countBefore = removed.length
        await Promise.all([newer(store, 'W9ME'), append(store, message(`number ${requests}`, { to: 'W9ME' }))])
        requests += 1
        // At most the transaction that was already running, and those of the two requests.
        expect(removed.length - countBefore).to.be.at.most(3)
      }
      expect(await expiring).to.equal(STATIONS)
      expect(Math.max(...removed)).to.be.within(1, 100)
      expect(removed.reduce((sum, rows) => sum + rows, 0)).to.equal(5000)
      expect(requests).to.be.above(20)
      expect(store.stations.size).to.equal(1)
    })

    // Shows: sidecar C11.6.
    it('housekeeping writes nothing if there are no orphaned rows', async () => {
      const store = await fill()
      removed.length = 0
      expect(await store.housekeeping.tidy(NEVER)).to.equal(0)
      expect(removed).to.deep.equal([])
    })

    // Shows: sidecar C11.6.
    it('aborted housekeeping stops within one batch', async () => {
      const store = await fill()
      const stop = new AbortController()
      store.stations.onChange(() => stop.abort())
      expect(await store.housekeeping.expire(stores.clock.now(), stop.signal)).to.be.within(1, 10)
      expect(await store.housekeeping.tidy(stop.signal)).to.equal(0)
    })
  })
})
