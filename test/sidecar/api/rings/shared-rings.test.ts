import { EventEmitter, once } from 'node:events'
import { expect } from 'chai'
import { createRingCache } from '../../../../sidecar/api/rings/create-ring-cache.ts'
import type { RingCache } from '../../../../sidecar/api/rings/ring-cache.ts'
import type { Store } from '../../../../sidecar/messages/store.ts'
import { claim, startApi } from '../../../support/running-api.ts'
import { append, message, register, registration, temporaryStores } from '../../store/sqlite/temporary-stores.ts'
import { answerIn, cacheOver } from './ring-answer.ts'

describe('The ring cache with a shared store', () => {
  const stores = temporaryStores()
  let store: Store
  beforeEach(async () => {
    store = await stores.open()
    await register(store, 'N0CALL')
  })

  /** Returns a ring cache over a shared store. `since` replaces the store's function. */
  const sharedRings = (since = store.history.since, perStation = 50) =>
    createRingCache({ ...store, isShared: true, history: { since, perStation } })
  const textsIn = async (rings: RingCache) =>
    answerIn(await rings.since('N0CALL', '', 0)).messages.map(({ text }) => text)

  it('the ring cache returns the same answers for a shared and for an unshared store', async () => {
    await store.stations.register(registration('W1AW', { avatar: { icon: 'car', image: '', hash: 'icon:car' } }))
    const [first] = await append(store, 'Grüße', 'b', message('c', { from: 'W2AW' }))
    const [cache, reader] = [cacheOver(store), sharedRings()]
    const time = first?.kind === 'stored' ? first.message.stamp : Number.NaN
    for (const since of [0, time, Number.MAX_SAFE_INTEGER]) {
      const stored = await cache.since('N0CALL', '', since)
      const read = await reader.since('N0CALL', '', since)
      expect(read?.head.text()).to.be.a('string').that.equals(stored?.head.text())
      expect(await read?.head.compressed()).to.deep.equal(await stored?.head.compressed())
    }
  })

  it('the ring cache reads each stored message once, and forgets unregistered stations', async () => {
    const read: number[] = []
    const rings = sharedRings(async (...asked) => {
      const answer = await store.history.since(...asked)
      read.push(answer?.messages.length ?? 0)
      return answer
    }, 2)
    const texts = () => textsIn(rings)
    await append(store, 'a', 'b')
    expect(await texts()).to.deep.equal(['a', 'b'])
    await append(store, 'c')
    expect(await Promise.all([texts(), texts()])).to.deep.equal([
      ['b', 'c'],
      ['b', 'c'],
    ])
    expect(await texts()).to.deep.equal(['b', 'c'])
    expect(read).to.deep.equal([2, 1, 1, 0])
    await store.stations.remove('N0CALL')
    await register(store, 'N0CALL')
    expect(await texts()).to.deep.equal([])
    await append(store, 'd')
    expect(await texts()).to.deep.equal(['d'])
  })

  it('a request with a recent cursor removes no older messages from the ring cache', async () => {
    const rings = sharedRings()
    await append(store, 'a')
    await rings.since('N0CALL', '', 0)
    const [, c] = await append(store, 'b', 'c')
    await rings.since('N0CALL', '', c?.kind === 'stored' ? c.message.stamp : Number.NaN)
    await append(store, 'd')
    expect(await textsIn(rings)).to.deep.equal(['a', 'b', 'c', 'd'])
  })

  it('the ring cache reloads a ring whose messages the shared store has lost', async () => {
    let lost = false
    const rings = sharedRings(async (...asked) => {
      const answer = await store.history.since(...asked)
      return answer && lost ? { ...answer, messages: answer.messages.slice(0, 1), newest: 1 } : answer
    })
    await append(store, 'a', 'b')
    expect(await textsIn(rings)).to.deep.equal(['a', 'b'])
    lost = true
    expect(await textsIn(rings)).to.deep.equal(['a'])
  })

  it('a slow sync also returns the messages and serverTime of a sync that overtook it', async () => {
    const events = new EventEmitter()
    let slow = false
    const rings = sharedRings(async (...asked) => {
      const released = slow && once(events, 'release')
      const answer = await store.history.since(...asked)
      if (released) events.emit('read')
      await released
      return answer
    })
    await append(store, 'a')
    await rings.since('N0CALL', '', 0)
    slow = true
    const pendingRead = rings.since('N0CALL', '', 0)
    await once(events, 'read')
    slow = false
    const [b] = await append(store, 'b')
    await rings.since('N0CALL', '', 0)
    events.emit('release')
    const answer = await pendingRead
    expect(answerIn(answer).messages.map(({ text }) => text)).to.deep.equal(['a', 'b'])
    expect(answer?.serverTime).to.equal(b?.kind === 'stored' ? b.message.stamp : undefined)
  })

  it('the API serves a station and avatars that another process has just registered', async () => {
    // The station is not in the memory of this process yet.
    const stations = { ...store.stations, get: () => undefined }
    const keyring = { settle: async (_name: string, proposal: string) => proposal }
    const api = await startApi({
      over: { store: { ...store, isShared: true, keyring, stations }, clock: stores.clock },
    })
    try {
      await register(store, 'N0CALL-7')
      const status = async (path: string, body: object) => (await api.post(path, body)).status
      expect(await status('/v1/sync', { ...claim('N0CALL'), since: 0 })).to.equal(200)
      expect(await status('/v1/avatars', { ...claim('N0CALL'), stations: [] })).to.equal(200)
      expect(await status('/v1/avatars', { ...claim('K9NONE'), stations: [] })).to.equal(404)
      expect(await status('/v1/unregister', { ...claim('N0CALL'), pushToken: 'token-of-N0CALL-7' })).to.equal(200)
      expect(await status('/v1/sync', { ...claim('N0CALL'), since: 0 })).to.equal(404)
    } finally {
      await api.close()
    }
  })
})
