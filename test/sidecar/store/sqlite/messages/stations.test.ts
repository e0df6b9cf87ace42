import { expect } from 'chai'
import type { AvatarUpload, Store } from '../../../../../sidecar/messages/store.ts'
import { OLDEST_UNPROVEN } from '../../../../../sidecar/store/sqlite/messages/registrations.ts'
import { stationsContract } from '../../contract/stations.contract.ts'
import { register, registration, temporaryStores } from '../temporary-stores.ts'

const HOUR = 3_600_000
const CAR: AvatarUpload = { icon: 'car', image: '', hash: 'icon:car' }

describe('The registry of stations', () => stationsContract(temporaryStores()))

describe('The registry in SQLite', () => {
  const stores = temporaryStores()
  let store: Store
  beforeEach(async () => {
    store = await stores.open()
  })

  async function reopened(): Promise<Store> {
    await store.close()
    store = await stores.open()
    return store
  }

  describe('A heartbeat without changes', () => {
    it('an unchanged heartbeat writes its last-seen time at most once an hour', async () => {
      // The second call proves the station, which is written.
      for (let times = 0; times < 2; times += 1) await store.stations.register(registration('N0CALL', { avatar: CAR }))
      const start = stores.clock.now()
      const onDiskAfter = async (ms: number) => {
        stores.clock.set(start + ms)
        const outcome = await store.stations.register(registration('N0CALL', { avatar: CAR }))
        expect(outcome).to.have.nested.property('station.devices[0].lastSeenAt', start + ms)
        expect(store.stations.get('N0CALL')?.devices[0]?.lastSeenAt).to.equal(start + ms)
        return (await reopened()).stations.get('N0CALL')?.devices[0]?.lastSeenAt
      }
      expect(await onDiskAfter(HOUR)).to.equal(start)
      expect(await onDiskAfter(HOUR + 1)).to.equal(start + HOUR + 1)
    })

    it('a station keeps its last-seen time in memory if its push token proves dead', async () => {
      const start = stores.clock.now()
      for (let times = 0; times < 2; times += 1) await register(store, 'N0CALL')
      stores.clock.set(start + 60_000)
      await register(store, 'N0CALL')
      await store.stations.markTokenDead('N0CALL', '', 'token-of-N0CALL')
      expect(store.stations.get('N0CALL')?.devices[0]).to.include({ tokenDead: true, lastSeenAt: start + 60_000 })
      expect((await reopened()).stations.get('N0CALL')?.devices[0]?.lastSeenAt).to.equal(start)
    })

    it('a heartbeat corrects a future last-seen time after the clock is set right', async () => {
      const start = stores.clock.now()
      stores.clock.set(start + 1000 * HOUR)
      await register(store, 'N0CALL')
      stores.clock.set(start)
      await register(store, 'N0CALL')
      expect((await reopened()).stations.get('N0CALL')?.devices[0]?.lastSeenAt).to.equal(start)
    })
  })

  // Shows: sidecar C13.20.
  it('finding the oldest replaceable station uses a database index', async () => {
    await store.close()
    const { connection } = await stores.openOver()
    const plan = await connection.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${OLDEST_UNPROVEN}`, 0, 0)
    expect(plan[0]?.detail).to.match(/^SEARCH station USING (?:COVERING )?INDEX station_unproven \(registered_at<\?\)$/)
  })

  // Shows: sidecar P1.16.
  it('refuses avatars with store_overloaded if more than 50 MB wait for the disk', async () => {
    // All avatars share one string, so that the test itself does not hold 60 MB.
    const avatar: AvatarUpload = { icon: '', image: 'a'.repeat(60_000), hash: 'sha' }
    const key = (n: number) => `N${n}`
    const calls = Array.from({ length: 1000 }, (_, n) => store.stations.register(registration(key(n), { avatar })))
    const results = await Promise.allSettled(calls)
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []))
    expect(new Set(refused)).to.deep.equal(new Set(['store_overloaded']))
    expect(results.length - refused.length).to.be.within(800, 900)
  })
})
