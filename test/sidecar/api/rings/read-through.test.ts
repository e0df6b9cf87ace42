import { expect } from 'chai'
import { createReadThrough } from '../../../../sidecar/api/rings/read-through.ts'
import type { Store } from '../../../../sidecar/messages/store.ts'
import { claim, startApi } from '../../../support/running-api.ts'
import { append, message, register, registration, temporaryStores } from '../../store/sqlite/temporary-stores.ts'
import { answerIn, cacheOver } from './ring-answer.ts'

describe('The answers that are read through', () => {
  const stores = temporaryStores()
  let store: Store
  beforeEach(async () => {
    store = await stores.open()
    await register(store, 'N0CALL')
  })

  it('are those that rings in memory give, of any beginning', async () => {
    await store.stations.register(registration('W1AW', { avatar: { icon: 'car', image: '', hash: 'icon:car' } }))
    const [first] = await append(store, 'Grüße', 'b', message('c', { from: 'W2AW' }))
    const [cache, reader] = [cacheOver(store), createReadThrough(store)]
    const time = first?.kind === 'stored' ? first.message.time : Number.NaN
    for (const since of [0, time, Number.MAX_SAFE_INTEGER]) {
      const kept = await cache.since('N0CALL', '', since)
      const read = await reader.since('N0CALL', '', since)
      expect(read?.head.text()).to.be.a('string').that.equals(kept?.head.text())
      expect(await read?.head.compressed()).to.deep.equal(await kept?.head.compressed())
    }
  })

  it('have what was stored just now, and the avatars of now', async () => {
    const reader = createReadThrough(store)
    const answer = async () => answerIn(await reader.since('N0CALL', '', 0))
    expect(await answer()).to.deep.equal({ messages: [], avatars: {} })
    await append(store, 'a')
    await store.stations.register(registration('W1AW', { avatar: { icon: 'car', image: '', hash: 'icon:car' } }))
    expect((await answer()).messages.map(({ text }) => text)).to.deep.equal(['a'])
    expect((await answer()).avatars).to.deep.equal({ W1AW: 'icon:car' })
  })

  it('are there for a station that another process has registered just now, and so are avatars', async () => {
    // What memory does not know yet.
    const stations = { ...store.stations, get: () => undefined }
    const api = await startApi({ over: { store: { ...store, stations, feed: undefined }, clock: stores.clock } })
    try {
      await register(store, 'N0CALL-7')
      const status = async (path: string, body: object) => (await api.post(path, body)).status
      expect(await status('/v1/sync', { ...claim('N0CALL'), since: 0 })).to.equal(200)
      expect(await status('/v1/avatars', { ...claim('N0CALL'), stations: [] })).to.equal(200)
      expect(await status('/v1/avatars', { ...claim('K9NONE'), stations: [] })).to.equal(404)
      expect(await status('/v1/unregister', claim('N0CALL'))).to.equal(200)
      expect(await status('/v1/sync', { ...claim('N0CALL'), since: 0 })).to.equal(404)
    } finally {
      await api.close()
    }
  })

  it('are none for a station that is not registered', async () => {
    await store.stations.remove('N0CALL')
    expect(await createReadThrough(store).since('N0CALL', '', 0)).to.equal(undefined)
  })
})
