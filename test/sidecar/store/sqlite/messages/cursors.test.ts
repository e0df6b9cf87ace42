import { expect } from 'chai'
import { cursorsContract } from '../../contract/cursors.contract.ts'
import { append, message, register, temporaryStores } from '../temporary-stores.ts'

describe('The server time of an answer without messages', () => cursorsContract(temporaryStores()))

describe('Where a phone is', () => {
  const stores = temporaryStores()

  it('is the present moment while there is nothing that it has not seen', async () => {
    const store = await stores.open()
    await register(store, 'N0CALL')
    await stores.shift(5000)
    expect(await store.cursors.current('N0CALL')).to.be.at.least(stores.now())
  })

  it('is written down 10 seconds after it was first moved, of stations that there still are', async () => {
    const { store, connection } = await stores.openOver()
    await register(store, 'N0CALL', 'W1AW')
    const written = () => connection.all('SELECT station, asked, seen FROM cursor')
    const now = stores.now()
    await append(store, 'a', message('b', { to: 'W1AW' }))
    await stores.shift(1000)
    const moved = await store.cursors.current('N0CALL')
    for (const key of ['N0CALL', 'W1AW']) store.cursors.handOut(key, now, now + 500).sent()
    await store.stations.remove('W1AW')
    await stores.shift(9_999)
    await append(store, 'c')
    expect([await written(), moved < now + 500]).to.deep.equal([[], true])
    await stores.shift(1)
    await append(store, 'd')
    expect(await written()).to.deep.equal([{ station: 'N0CALL', asked: now, seen: now + 500 }])
  })
})
