import { expect } from 'chai'
import type { AvatarUpload, Store } from '../../../../../sidecar/messages/store.ts'
import { stationsContract } from '../../contract/stations.contract.ts'
import { register, registration, temporaryStores } from '../temporary-stores.ts'

const HOUR = 3_600_000
const CAR: AvatarUpload = { icon: 'car', image: '', hash: 'icon:car' }

describe('The registry', () => stationsContract(temporaryStores()))

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

  describe('at a heartbeat that brings nothing new', () => {
    it('writes the time of the last sign of life once an hour', async () => {
      await store.stations.register(registration('N0CALL', { avatar: CAR }))
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

    it('still knows its time when the token is found dead', async () => {
      const start = stores.clock.now()
      await register(store, 'N0CALL')
      stores.clock.set(start + 60_000)
      await register(store, 'N0CALL')
      await store.stations.markTokenDead('N0CALL', '', 'token-of-N0CALL')
      expect(store.stations.get('N0CALL')?.devices[0]).to.include({ tokenDead: true, lastSeenAt: start + 60_000 })
      expect((await reopened()).stations.get('N0CALL')?.devices[0]?.lastSeenAt).to.equal(start)
    })

    it('takes a time back that a wrong clock wrote', async () => {
      const start = stores.clock.now()
      stores.clock.set(start + 1000 * HOUR)
      await register(store, 'N0CALL')
      stores.clock.set(start)
      await register(store, 'N0CALL')
      expect((await reopened()).stations.get('N0CALL')?.devices[0]?.lastSeenAt).to.equal(start)
    })
  })
})
