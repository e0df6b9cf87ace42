import { expect } from 'chai'
import type { PushClaim } from '../../../../../sidecar/messages/push-queue.ts'
import type { Connection } from '../../../../../sidecar/store/sqlite/database/connection.ts'
import { pushQueueContract } from '../../contract/push-queue.contract.ts'
import { append, copyAsAfterCrash, message, register, rejection, temporaryStores } from '../temporary-stores.ts'

const ROOM = { android: 100, ios: 100, webpush: 100 }

describe('The push queue', () => pushQueueContract(temporaryStores(), { leasesEnd: false, runs: 25 }))

describe('The push queue in SQLite', () => {
  const stores = temporaryStores()
  /** Makes every statement that begins with `verb` fail until it is switched off. */
  function failing(connection: Connection, verb: RegExp) {
    const { all } = connection
    const disk = { fails: false }
    connection.all = ((sql: string, ...values: []) =>
      disk.fails && verb.test(sql.trim())
        ? Promise.reject(Object.assign(new Error('disk full'), { code: 'SQLITE_FULL' }))
        : all(sql, ...values)) as Connection['all']
    return disk
  }

  /** Opens a store with one claimed message for each station in `keys`. Also returns its database connection. */
  async function claimed(...keys: readonly string[]) {
    const { store, connection } = await stores.openOverWith(...keys)
    await append(store, ...keys.map((to) => message('number 1', { to })))
    await stores.clock.advance(2000)
    return { store, connection, claims: await store.pushes.claim(ROOM) }
  }

  /** Returns the notifications that a start after a crash at this moment would send. */
  async function leftAfterCrash(): Promise<readonly PushClaim[]> {
    const path = stores.path(`after-${++crashes}.sqlite`)
    copyAsAfterCrash(stores.path(), path)
    return (await stores.open({}, path)).pushes.claim(ROOM)
  }
  let crashes = 0

  it('a settled push stays in memory while the disk fails, and is written later', async () => {
    const { store, connection, claims } = await claimed('N0CALL')
    const disk = failing(connection, /^UPDATE device SET pushed_through/)
    await register(store, 'N1CALL')
    disk.fails = true
    expect(await rejection(store.pushes.settle(claims[0]!))).to.include({ code: 'disk_full' })
    await append(store, message('number 2', { seqId: '2' }))
    await stores.clock.advance(2000)
    const [second] = await store.pushes.claim(ROOM)
    expect(second?.unpushed.count).to.equal(1)
    disk.fails = false
    await append(store, message('other', { to: 'N1CALL' }))
    await stores.clock.advance(2000)
    const [another] = await store.pushes.claim(ROOM)
    await store.pushes.settle(another!)
    const remaining = await leftAfterCrash()
    expect(remaining.map(({ unpushed: { count, newest } }) => [count, newest.seqId])).to.deep.equal([[1, '2']])
  })

  it('a closed push queue has no timer, not even for a later retry', async () => {
    const { store, claims } = await claimed('N0CALL')
    const countBefore = stores.clock.pending
    await register(store, 'N1CALL')
    await append(store, message('other', { to: 'N1CALL' }))
    expect(stores.clock.pending).to.be.above(countBefore)
    store.pushes.close()
    await store.pushes.retryLater(claims[0]!, { delayMs: 1000, tries: 1, refusals: 0 })
    expect(stores.clock.pending).to.equal(countBefore)
  })

  it('writes settled pushes every 100 ms, and at once if no claimed push remains', async () => {
    const keys = ['N0CALL', 'N1CALL', 'N2CALL']
    const { store, claims } = await claimed(...keys)
    const remaining = async () => (await leftAfterCrash()).map(({ station }) => station)
    await store.pushes.settle(claims[0]!)
    expect(await remaining()).to.deep.equal(keys)
    await stores.clock.advance(100)
    await store.pushes.settle(claims[1]!)
    expect(await remaining()).to.deep.equal(['N2CALL'])
    await store.pushes.settle(claims[2]!)
    expect(await remaining()).to.deep.equal([])
  })

  it('after a failed claim, pushes stay due in order, and listeners are called again', async () => {
    const firstLife = await stores.openWith('N0CALL', 'N1CALL', 'N2CALL')
    for (const to of ['N1CALL', 'N0CALL', 'N2CALL']) {
      await append(firstLife, message('hi', { to }))
      await stores.clock.advance(1)
    }
    await firstLife.close()
    const { store, connection } = await stores.openOver()
    const disk = failing(connection, /^SELECT time AS stamp, station, addressee/)
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
})
