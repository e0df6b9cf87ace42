import { EventEmitter, once } from 'node:events'
import { expect } from 'chai'
import type { Platform } from '../../../../../sidecar/messages/store.ts'
import { type Connection, connect } from '../../../../../sidecar/store/sqlite/database/connection.ts'
import type { Database, Write } from '../../../../../sidecar/store/sqlite/database/database.ts'
import { groupCommits } from '../../../../../sidecar/store/sqlite/database/group-commits.ts'
import {
  append,
  held,
  message,
  newer,
  register,
  registration,
  rejection,
  temporaryStores,
  texts,
} from '../temporary-stores.ts'

describe('Group commit of SQLite writes', () => {
  const stores = temporaryStores()
  let connection: Connection
  let database: Database
  let groups: (readonly number[])[] = []

  beforeEach(async () => {
    groups = []
    connection = await connect(stores.path('plain.sqlite'), 0)
    await connection.exec('CREATE TABLE number (value INTEGER PRIMARY KEY) STRICT')
    database = groupCommits(connection, stores.clock, stores.log)
  })
  afterEach(() => database.close(async () => undefined))

  /** Opens a database on the same file, but sends its statements through `all`. */
  const through = (all: Connection['all']) => groupCommits({ ...connection, all }, stores.clock, stores.log)

  const insert: Write<number, number> = {
    async run(tx, inputs) {
      groups.push(inputs)
      for (const value of inputs) await tx.all('INSERT INTO number VALUES (?)', value)
      return inputs
    },
  }
  const numbers = () =>
    database.read(async (queries) => {
      const rows = await queries.all<{ value: number }>('SELECT value FROM number ORDER BY value')
      return rows.map((row) => row.value)
    })

  // Shows: sidecar C8.2.
  it('commits all waiting writes at once, and later writes in the next transaction', async () => {
    const first = [1, 2, 3].map((value) => database.write(insert, value))
    await new Promise((resolve) => setImmediate(resolve))
    const second = [4, 5].map((value) => database.write(insert, value))
    expect(await Promise.all([...first, ...second])).to.deep.equal([1, 2, 3, 4, 5])
    expect(groups).to.deep.equal([
      [1, 2, 3],
      [4, 5],
    ])
  })

  // Shows: sidecar C8.3.
  it('commits the other writes of a transaction in order if one write fails', async () => {
    const writes = [1, 2, 2, 3].map((value) => database.write(insert, value))
    const results = await Promise.allSettled(writes)
    expect(results.map((result) => result.status)).to.deep.equal(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
    expect((await rejection(writes[2]!)).code).to.equal('store_fault')
    expect(await numbers()).to.deep.equal([1, 2, 3])
  })

  // Shows: sidecar C13.17.
  it('runs large reads one at a time, after waiting writes and other reads', async () => {
    const order: string[] = []
    const noted: Write<string, string> = {
      async run(_tx, names) {
        order.push(...names)
        return names
      },
    }
    const bulky = (name: string) =>
      database.readBehind(async (queries) => {
        order.push(name)
        const writes = name === 'first' ? [database.write(noted, 'second write')] : []
        await queries.all('SELECT value FROM number')
        return writes
      })
    const reads = [bulky('first'), bulky('second'), bulky('third')]
    const write = database.write(noted, 'write')
    const read = database.read(async () => order.push('read'))
    await Promise.all([...reads, write, read])
    expect(order).to.deep.equal(['write', 'read', 'first', 'second write', 'second', 'third'])
  })

  it('a single-statement write gets no explicit transaction, and neither does a read', async () => {
    const statements: string[] = []
    const watched = through((sql, ...values) => {
      statements.push(sql.split(' ')[0] ?? '')
      return connection.all(sql, ...values)
    })
    const largest: Write<number, number> = {
      async run(tx, inputs) {
        const [highest] = await tx.look<{ value: number }>('SELECT max(value) AS value FROM number')
        await tx.last('INSERT INTO number VALUES (?)', (highest?.value ?? 0) + 1)
        return inputs
      },
    }
    await watched.write(largest, 0)
    expect(statements).to.deep.equal(['SELECT', 'INSERT'])
    statements.length = 0
    // Writes of two kinds share one transaction. If one write fails, it is undone completely, and the other still
    // succeeds.
    const results = await Promise.allSettled([watched.write(largest, 0), watched.write(insert, 1)])
    expect(results.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected'])
    expect(statements.slice(0, 5)).to.deep.equal(['SELECT', 'BEGIN', 'INSERT', 'INSERT', 'ROLLBACK'])
    expect(await numbers()).to.deep.equal([1, 2])
  })

  it('never writes into a transaction that a failed rollback has left open', async () => {
    let refuses = false
    const broken = through((sql, ...values) =>
      refuses && sql === 'ROLLBACK' ? Promise.reject(new Error('disk I/O error')) : connection.all(sql, ...values),
    )
    const failing: Write<number, number> = {
      async run(tx) {
        await tx.all('INSERT INTO number VALUES (7)')
        throw new Error('after all not')
      },
    }
    const alone: Write<number, number> = {
      run: (tx, inputs) => tx.last('INSERT INTO number VALUES (?)', inputs[0] ?? 0).then(() => inputs),
    }
    refuses = true
    await rejection(broken.write(failing, 0))
    refuses = false
    await broken.write(alone, 1)
    expect(await numbers()).to.deep.equal([1])
  })

  it('runs onCommit after the commit, or onRollback if the transaction fails', async () => {
    const noted: string[] = []
    const noting: Write<number, void> = {
      async run(tx, [value]) {
        tx.onCommit(() => noted.push(`committed ${value}`))
        tx.onRollback(() => noted.push(`rolled back ${value}`))
        await tx.all('INSERT INTO number VALUES (?)', value ?? 0)
        return [undefined]
      },
    }
    await database.write(noting, 1)
    await rejection(database.write(noting, 1))
    expect(noted).to.deep.equal(['committed 1', 'rolled back 1'])
  })

  it('a read sees only committed rows, even while a write is in progress', async () => {
    let readMeanwhile: Promise<number[]> | undefined
    const failing: Write<number, void> = {
      async run(tx, [value]) {
        await tx.all('INSERT INTO number VALUES (?)', value ?? 0)
        readMeanwhile ??= numbers()
        throw new Error('after all not')
      },
    }
    await database.write(insert, 1)
    await rejection(database.write(failing, 2))
    expect(await readMeanwhile).to.deep.equal([1])
  })

  it('refuses writes with store_overloaded if too much data waits to be written', async () => {
    const heavy: Write<number, number> = { ...insert, weight: () => 20_000 }
    const results = await Promise.allSettled([1, 2, 3].map((value) => database.write(heavy, value)))
    expect(results.map((result) => result.status)).to.deep.equal(['fulfilled', 'fulfilled', 'rejected'])
    expect(results[2]).to.have.nested.property('reason.code', 'store_overloaded')
    expect(groups).to.deep.equal([[1], [2]])
    expect(await database.write(heavy, 3)).to.equal(3)
  })

  it('closing the database waits 3 s for a stuck disk, then rejects the waiting writes', async () => {
    const disk = new EventEmitter()
    const started = once(disk, 'started')
    const stuck: Write<undefined, void> = {
      async run() {
        disk.emit('started')
        await once(disk, 'released')
        return [undefined]
      },
    }
    const hanging = database.write(stuck, undefined)
    await started
    const waiting = rejection(database.write(insert, 1))
    const closed = database.close(async () => undefined)
    await stores.clock.advance(3000)
    await closed
    expect((await waiting).code).to.equal('store_closed')
    expect(stores.lines.map((line) => line.event)).to.include('store-close-late')
    disk.emit('released')
    await hanging
  })
})

describe('A store on a failing disk', () => {
  const stores = temporaryStores()

  // Shows: sidecar C8.8.
  it('a full disk fails writes but not reads, until space is free again', async () => {
    const { store, connection } = await stores.openOverWith('N0CALL')
    await append(store, 'before')
    const [{ pages } = { pages: 0 }] = await connection.all<{ pages: number }>(
      'SELECT page_count AS pages FROM pragma_page_count',
    )
    await connection.exec(`PRAGMA max_page_count = ${pages}`)

    const large = (name: string) => message(name + '.'.repeat(50_000))
    const errors = await Promise.all([rejection(append(store, large('a'))), rejection(append(store, large('b')))])
    expect(errors.map((error) => error.code)).to.deep.equal(['disk_full', 'disk_full'])
    expect(await held(store)).to.deep.equal(['before'])
    expect(store.stations.get('N0CALL')?.key).to.equal('N0CALL')

    await connection.exec('PRAGMA max_page_count = 100000')
    expect((await append(store, large('a')))[0]?.kind).to.equal('stored')
    const events = stores.lines.map((line) => line.event)
    expect(events).to.deep.equal(['store-write-failed', 'store-write-recovered'])
  })

  // Shows: sidecar C8.8.
  it('syncs continue while the disk rejects writes, and later syncs skip no message', async () => {
    const { store, connection } = await stores.openOverWith('N0CALL')
    await append(store, 'before')
    const first = await newer(store, 'N0CALL')

    await connection.exec('PRAGMA query_only = ON') // simulates a file system that became read-only
    await stores.clock.advance(3_600_000)
    expect((await rejection(append(store, 'lost'))).code).to.equal('database_not_writable')
    const second = await newer(store, 'N0CALL', first.answerStamp)
    const third = await newer(store, 'N0CALL', second.answerStamp)
    expect(second.messages).to.deep.equal([])
    expect(second.answerStamp).to.be.at.least(first.answerStamp)
    expect(third.answerStamp).to.be.at.least(second.answerStamp)

    await connection.exec('PRAGMA query_only = OFF')
    await append(store, 'after')
    const fourth = await newer(store, 'N0CALL', third.answerStamp)
    expect(texts(fourth.messages)).to.deep.equal(['after'])
    expect(fourth.answerStamp).to.be.at.least(stores.clock.now())
  })

  for (const [caseName, code, broken, mended] of [
    ['a read-only file', 'database_not_writable', 'PRAGMA query_only = ON', 'PRAGMA query_only = OFF'],
    [
      'a table that rejects messages',
      'store_fault',
      "CREATE TRIGGER no BEFORE INSERT ON message BEGIN SELECT RAISE(ABORT, 'no'); END",
      'DROP TRIGGER no',
    ],
  ] as const) {
    // Shows: sidecar O1.1.
    it(`the store reports ${caseName} until a probe write succeeds`, async () => {
      const { store, connection } = await stores.openOverWith('N0CALL')
      expect(store.fault()).to.equal(undefined)
      await connection.exec(broken)
      await rejection(append(store, 'lost'))
      expect(store.fault()).to.equal(code)
      const probed = async () => {
        await stores.clock.advance(5000)
        await store.stations.avatars([]) // waits in the queue until the probe is done
      }
      await probed()
      expect(store.fault()).to.equal(code)
      await connection.exec(mended)
      await probed()
      expect(store.fault()).to.equal(undefined)
      expect(stores.lines.map((line) => line.event)).to.deep.equal(['store-write-failed', 'store-write-recovered'])
      expect(stores.clock.pending).to.equal(0)
      expect(await held(store)).to.deep.equal([])
    })
  }

  // Shows: sidecar C8.8.
  it('accepts a heartbeat without changes while the disk rejects writes', async () => {
    const { store, connection } = await stores.openOverWith('N0CALL')
    await connection.exec('PRAGMA query_only = ON')
    await stores.clock.advance(6 * 3_600_000)
    expect(await register(store, 'N0CALL')).to.deep.equal([
      { kind: 'refreshed', station: store.stations.get('N0CALL') },
    ])
    expect(store.stations.get('N0CALL')?.devices[0]?.lastSeenAt).to.equal(stores.clock.now())
    for (const changed of [registration('N1CALL'), registration('N0CALL', { pushToken: 'another' })])
      expect((await rejection(store.stations.register(changed))).code).to.equal('database_not_writable')
    expect(store.stations.get('N0CALL')?.devices[0]?.pushToken).to.equal('token-of-N0CALL')

    await connection.exec('PRAGMA query_only = OFF')
    await stores.clock.advance(1)
    await register(store, 'N0CALL')
    const [row] = await connection.all<{ seen: number }>('SELECT last_seen_at AS seen FROM device')
    expect(row?.seen).to.equal(stores.clock.now())
  })

  // Shows: sidecar C8.3.
  it('a call with invalid data fails, but the messages of concurrent calls are stored', async () => {
    const store = await stores.openWith('N0CALL')
    const results = await Promise.allSettled([
      append(store, 'first'),
      store.stations.register(registration('W1AW', { platform: 'windows' as Platform })),
      append(store, message('second', { seqId: undefined as unknown as string })),
      append(store, 'third'),
    ])
    expect(results.map((result) => result.status)).to.deep.equal(['fulfilled', 'rejected', 'rejected', 'fulfilled'])
    expect(store.stations.get('W1AW')).to.equal(undefined)
    expect(await held(store)).to.deep.equal(['first', 'third'])
  })
})
