import { expect } from 'chai'
import { MAX_DEVICES } from '../../../../../sidecar/messages/station.ts'
import { cursorsContract } from '../../contract/cursors.contract.ts'
import { append, message, newer, registration, stampOf, temporaryStores } from '../temporary-stores.ts'

const PHONE = { deviceId: 'phone' }

describe('The server time in answers of the API', () => {
  const stores = temporaryStores()
  cursorsContract(stores, { runs: 20 })

  it('the server time is the current time while nothing is stored', async () => {
    const store = await stores.openWith('N0CALL')
    await stores.shift(5000)
    expect(await store.cursors.stampFor('N0CALL', '')).to.equal(stores.now())
  })

  it("the server time is the phone's cursor while the disk rejects writes", async () => {
    const { store, connection } = await stores.openOver()
    await store.stations.register(registration('N0CALL', PHONE))
    const time = await stampOf(store, 'a')
    await connection.exec('PRAGMA query_only = ON')
    await stores.shift(60_000)
    const synced = await newer(store, 'N0CALL', time, PHONE.deviceId)
    expect(synced.answerStamp).to.equal(time)
    expect(await store.cursors.stampFor('N0CALL', PHONE.deviceId)).to.equal(time)
    await connection.exec('PRAGMA query_only = OFF')
  })

  it('the server time is 0 for an unknown device; a known device keeps its cursor', async () => {
    const store = await stores.open()
    await store.stations.register(registration('N0CALL', PHONE))
    const time = await stampOf(store, 'a')
    await newer(store, 'N0CALL', time, PHONE.deviceId)
    await append(store, message('b', { seqId: '2' }))
    for (let index = 0; index < 2 * MAX_DEVICES; index += 1) {
      await store.stations.register(registration(`N1CALL-${index}`, PHONE))
      await stores.shift(1)
      const cursor = await store.cursors.stampFor(`N1CALL-${index}`, PHONE.deviceId)
      await newer(store, `N1CALL-${index}`, cursor, PHONE.deviceId)
      await store.stations.remove(`N1CALL-${index}`)
    }
    expect(await store.cursors.stampFor('N0CALL', PHONE.deviceId)).to.equal(time)
    expect(await store.cursors.stampFor('N0CALL', 'nobody')).to.equal(0)
  })

  it('writes no cursor of a removed station, or of a station without messages', async () => {
    const { store, connection } = await stores.openOver()
    for (const key of ['N0CALL', 'W1AW', 'K1ABC']) await store.stations.register(registration(key, PHONE))
    const times = await Promise.all(['N0CALL', 'W1AW'].map((to) => stampOf(store, message('a', { to }))))
    for (const key of ['N0CALL', 'W1AW', 'K1ABC']) await newer(store, key, Math.max(...times), PHONE.deviceId)
    await store.stations.remove('W1AW')
    await stores.shift(10_000)
    await append(store, 'comes after the write that is on its way')
    const written = await connection.all('SELECT station AS key, newest_cursor FROM device ORDER BY station')
    expect(written).to.deep.equal([
      { key: 'K1ABC', newest_cursor: 0 },
      { key: 'N0CALL', newest_cursor: Math.max(...times) },
    ])
  })
})
