import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { cacheOver, messagesIn } from '../../../api/rings/ring-answer.ts'
import { bringsEachOnce } from '../../contract/cursors.contract.ts'
import { serverTimeContract } from '../../contract/server-time.contract.ts'
import { append, copyAsAfterCrash, message, rejection, temporaryStores } from '../temporary-stores.ts'

const HOUR = 3_600_000

describe('The stamps of the store', () => serverTimeContract(temporaryStores()))

describe('The stamps of the store in SQLite', () => {
  const stores = temporaryStores()

  // Shows: sidecar 6.1, 6.2, 12.3.
  it('stamps follow the clock in milliseconds, and increase even if the clock stops', async () => {
    const store = await stores.open()
    const now = stores.clock.now()
    expect(await store.stamps.issue()).to.equal(now)
    expect(await store.stamps.issue()).to.equal(now + 1)
    stores.clock.set(now + 5000)
    expect(await store.stamps.issue()).to.equal(now + 5000)
  })

  it('stamps are distinct even if the clock jumps while a block of stamps is reserved', async () => {
    const store = await stores.open()
    for (let turns = 0; turns < 20; turns += 1) {
      stores.clock.set(stores.clock.now() + 60_000)
      const first = store.stamps.issue()
      for (let turn = 0; turn < turns; turn += 1) await nextTurn()
      stores.clock.set(stores.clock.now() + 60_000)
      const second = store.stamps.issue()
      expect(await second).to.not.equal(await first)
    }
  })

  it('stamps increase by 1 after the clock is set back, even across a restart', async () => {
    const first = await stores.open()
    const issued = await first.stamps.issue()
    stores.clock.set(stores.clock.now() - 1000 * HOUR)
    expect(await first.stamps.issue()).to.equal(issued + 1)
    await first.close()
    const second = await stores.open()
    expect(await second.stamps.issue()).to.equal(issued + 2)
  })

  // Shows: sidecar C4.16.
  it('no stamp repeats after a crash with the clock set back; at most 10 s are skipped', async () => {
    const first = await stores.open()
    let newest = 0
    for (let count = 0; count < 12_000; count += 1) newest = await first.stamps.issue()
    copyAsAfterCrash(stores.path(), stores.path('crashed'))
    stores.clock.set(stores.clock.now() - HOUR)
    const second = await stores.open({}, stores.path('crashed'))
    const next = await second.stamps.issue()
    expect(next).to.be.greaterThan(newest)
    expect(next - newest).to.be.at.most(10_001)
  })

  it('stamps are reserved in large blocks: 100 s of stamps need at most 25 writes', async () => {
    const { store, connection } = await stores.openOver()
    const changes = async () => {
      const [row] = await connection.all<{ count: number }>('SELECT total_changes() AS count')
      return row?.count ?? 0
    }
    const earlier = await changes()
    for (let second = 0; second < 100; second += 1) {
      stores.clock.set(stores.clock.now() + 1000)
      await store.stamps.issue()
    }
    expect((await changes()) - earlier).to.be.within(10, 25)
  })

  it('refuses to issue a stamp beyond the reserved ones if the database is read-only', async () => {
    const { store, connection } = await stores.openOver()
    const start = await store.stamps.issue()
    await connection.exec('PRAGMA query_only = ON')
    stores.clock.set(start + 9000)
    expect(await store.stamps.issue()).to.equal(start + 9000)
    stores.clock.set(start + HOUR)
    expect((await rejection(store.stamps.issue())).code).to.equal('database_not_writable')
    await connection.exec('PRAGMA query_only = OFF')
    expect(await store.stamps.issue()).to.equal(start + HOUR)
  })

  it('a transaction that is rolled back uses up no stamps', async () => {
    const store = await stores.openWith('N0CALL')
    const earlier = await store.stamps.issue()
    const batch = Array.from({ length: 500 }, (_, index) => message(`text ${index}`))
    const spoilt = message('last', { from: undefined as unknown as string })
    await rejection(append(store, ...batch, spoilt))
    expect(await store.stamps.issue()).to.equal(earlier + 1)
  })

  // Shows: sidecar 6.2, C4.8, C4.16, C4.17, C8.11.
  it('phones read each message from memory, none twice if they send the newest cursor', () =>
    bringsEachOnce(stores, {
      runs: 10,
      asking(store) {
        const rings = cacheOver(store)
        return async (station, since, device) => {
          const answer = await rings.since(station, device, since)
          if (!answer) throw new Error('The station is not registered.')
          return { messages: messagesIn(answer).map(({ time }) => ({ stamp: time })), answerStamp: answer.serverTime }
        }
      },
    }))
})
