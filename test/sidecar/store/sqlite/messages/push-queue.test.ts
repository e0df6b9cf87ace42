import { expect } from 'chai'
import type { PushClaim } from '../../../../../sidecar/messages/push-queue.ts'
import type { Store } from '../../../../../sidecar/messages/store.ts'
import type { Connection } from '../../../../../sidecar/store/sqlite/database/connection.ts'
import { pushQueueContract } from '../../contract/push-queue.contract.ts'
import { append, copyAsAfterCrash, message, register, rejection, temporaryStores } from '../temporary-stores.ts'

const ROOM = { android: 100, ios: 100, webpush: 100 }

describe('The queue of pushes', () => pushQueueContract(temporaryStores(), { leasesEnd: false, runs: 25 }))

describe('The queue of pushes in SQLite', () => {
  const stores = temporaryStores()
  const receive = (store: Awaited<ReturnType<typeof stores.open>>, ...seqIds: string[]) =>
    append(store, ...seqIds.map((seqId) => message(`number ${seqId}`, { seqId })))

  /** Has every statement that begins with `verb` fail until it is told otherwise. */
  function failing(connection: Connection, verb: RegExp) {
    const { all } = connection
    const disk = { fails: false }
    connection.all = ((sql: string, ...values: []) =>
      disk.fails && verb.test(sql.trim())
        ? Promise.reject(Object.assign(new Error('disk full'), { code: 'SQLITE_FULL' }))
        : all(sql, ...values)) as Connection['all']
    return disk
  }

  it('settles in memory what the file does not take, tells nobody twice of it, and writes it down with what comes next', async () => {
    const { store, connection } = await stores.openOver()
    const disk = failing(connection, /^UPDATE device SET pushed_through/)
    await register(store, 'N0CALL', 'N1CALL')
    await receive(store, '1')
    await stores.clock.advance(2000)
    const [claim] = await store.pushes.claim(ROOM)
    disk.fails = true
    expect(await rejection(store.pushes.settle(claim!))).to.include({ code: 'disk_full' })
    await receive(store, '2')
    await stores.clock.advance(2000)
    const [second] = await store.pushes.claim(ROOM)
    expect(second?.unpushed.count).to.equal(1)
    disk.fails = false
    await append(store, message('other', { to: 'N1CALL' }))
    await stores.clock.advance(2000)
    const [other] = await store.pushes.claim(ROOM)
    await store.pushes.settle(other!)
    copyAsAfterCrash(stores.path(), stores.path('after.sqlite'))
    const [left, ...others] = await (await stores.open({}, stores.path('after.sqlite'))).pushes.claim(ROOM)
    expect(left?.unpushed.count).to.equal(1)
    expect(left?.unpushed.newest.seqId).to.equal('2')
    expect(others).to.deep.equal([])
  })

  it('writes down when it is closed what it could not write before', async () => {
    const { store, connection } = await stores.openOver()
    const disk = failing(connection, /^UPDATE device SET pushed_through/)
    await register(store, 'N0CALL')
    await receive(store, '1')
    await stores.clock.advance(2000)
    const [claim] = await store.pushes.claim(ROOM)
    disk.fails = true
    await rejection(store.pushes.settle(claim!))
    disk.fails = false
    await store.close()
    expect(await (await stores.open()).pushes.claim(ROOM)).to.deep.equal([])
  })

  it('plans nothing any more once it is closed, for a timer would keep the process', async () => {
    const store = await stores.open()
    await register(store, 'N0CALL')
    await receive(store, '1')
    await stores.clock.advance(2000)
    const [claim] = await store.pushes.claim(ROOM)
    store.pushes.close()
    const { pending } = stores.clock
    await store.pushes.later(claim!, { delayMs: 1000, tries: 1, refusals: 0 })
    expect(stores.clock.pending).to.equal(pending)
  })

  describe('while others are under way', () => {
    const KEYS = ['N0CALL', 'N1CALL', 'N2CALL']

    async function claimed(): Promise<{ store: Store; claims: readonly PushClaim[] }> {
      const store = await stores.open()
      await register(store, ...KEYS)
      await append(store, ...KEYS.map((to) => message('hi', { to })))
      await stores.clock.advance(2000)
      return { store, claims: await store.pushes.claim(ROOM) }
    }

    it('writes together what is settled within 100 ms, and the rest with the last of them', async () => {
      const { store, claims } = await claimed()
      const leftAfterCrash = async (name: string) => {
        copyAsAfterCrash(stores.path(), stores.path(name))
        const left = await (await stores.open({}, stores.path(name))).pushes.claim(ROOM)
        return left.map(({ station }) => station)
      }
      await store.pushes.settle(claims[0]!)
      expect(await leftAfterCrash('first.sqlite')).to.deep.equal(KEYS)
      await stores.clock.advance(100)
      await store.pushes.settle(claims[1]!)
      expect(await leftAfterCrash('second.sqlite')).to.deep.equal(['N2CALL'])
      await store.pushes.settle(claims[2]!)
      expect(await leftAfterCrash('third.sqlite')).to.deep.equal([])
    })

    it('tells nobody again after it was closed, be one put off or not', async () => {
      const { store, claims } = await claimed()
      await store.pushes.settle(claims[0]!)
      await store.pushes.later(claims[1]!, { delayMs: 1000, tries: 1, refusals: 0 })
      await store.close()
      const left = await (await stores.open()).pushes.claim(ROOM)
      expect(left.map(({ station }) => station)).to.deep.equal(['N1CALL', 'N2CALL'])
    })
  })

  it('has those due still, in their order, that a claim could not read, and says when to ask again', async () => {
    const before = await stores.openWith('N0CALL', 'N1CALL', 'N2CALL')
    for (const to of ['N1CALL', 'N0CALL', 'N2CALL']) {
      await append(before, message('hi', { to }))
      await stores.clock.advance(1)
    }
    await before.close()
    const { store, connection } = await stores.openOver()
    const disk = failing(connection, /^SELECT time, station AS "to"/)
    let calls = 0
    store.pushes.onDue(() => calls++)
    calls = 0
    disk.fails = true
    expect(await rejection(store.pushes.claim({ ...ROOM, android: 2 }))).to.include({ code: 'disk_full' })
    expect(calls).to.equal(0)
    disk.fails = false
    await stores.clock.advance(1000)
    expect(calls).to.equal(1)
    const keys = (await store.pushes.claim(ROOM)).map(({ station }) => station)
    expect(keys).to.deep.equal(['N1CALL', 'N0CALL', 'N2CALL'])
  })

  it('leaves no timer behind when it is closed', async () => {
    const store = await stores.openWith('N0CALL', 'N1CALL')
    const before = stores.clock.pending
    await receive(store, '1')
    expect(stores.clock.pending).to.be.above(before)
    store.pushes.close()
    expect(stores.clock.pending).to.equal(before)
  })
})
