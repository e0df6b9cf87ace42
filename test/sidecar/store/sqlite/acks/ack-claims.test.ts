import { expect } from 'chai'
import { acksContract } from '../../contract/acks.contract.ts'
import { message, registration, temporaryStores } from '../temporary-stores.ts'

describe('The acks of a store', () => acksContract(temporaryStores()))

describe('The acks of a store in SQLite', () => {
  const stores = temporaryStores()

  // Shows: sidecar C11.8.
  it('ack limits use elapsed time, so that changing the clock does not affect them', async () => {
    const store = await stores.open()
    await store.stations.register(registration('N0CALL', { ackMessages: true }))
    const isAcked = async () => {
      const [outcome] = await store.history.append([message('a')], true)
      return outcome?.kind !== 'no_station' && outcome?.ack
    }
    const start = stores.clock.now()
    stores.clock.set(start + 1000)
    expect(await isAcked()).to.equal(true)
    stores.clock.set(start + 100_000_000)
    await stores.clock.advance(30_999)
    stores.clock.set(start)
    expect(await isAcked()).to.equal(false)
    await stores.clock.advance(1)
    expect(await isAcked()).to.equal(true)
  })
})
