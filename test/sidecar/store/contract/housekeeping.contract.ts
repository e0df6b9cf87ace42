import { expect } from 'chai'
import type { Store } from '../../../../sidecar/messages/store.ts'
import { append, held, message, newer, register, registration, texts } from '../sqlite/temporary-stores.ts'
import type { ContractStores } from './stores.ts'

const NEVER = new AbortController().signal
const HOUR = 3_600_000

/** The contract of housekeeping for every store. Call it inside a `describe`. */
export function housekeepingContract(stores: ContractStores): void {
  let store: Store
  beforeEach(async () => {
    store = await stores.open()
  })

  // Shows: sidecar C11.2.
  it('housekeeping removes stations not seen recently, with history and avatar', async () => {
    await store.stations.register(registration('N1CALL', { avatar: { icon: 'car', image: '', hash: 'icon:car' } }))
    await append(store, message('one', { to: 'N1CALL' }))
    await stores.shift(2 * HOUR)
    const boundary = stores.now() - HOUR
    await register(store, 'N2CALL')
    await append(store, message('two', { to: 'N2CALL' }))

    expect(await store.housekeeping.expire(boundary, NEVER)).to.equal(1)
    expect([...store.stations.keys()]).to.deep.equal(['N2CALL'])
    expect(await store.stations.find('N1CALL')).to.equal(undefined)
    expect(await store.history.since('N1CALL', '', 0)).to.equal(undefined)
    expect((await store.stations.avatars(['N1CALL'])).size).to.equal(0)
    expect(await held(store, 'N2CALL')).to.deep.equal(['two'])
    expect(await store.housekeeping.expire(boundary, NEVER)).to.equal(0)
    // No row of the station is left.
    expect(await store.housekeeping.tidy(NEVER)).to.equal(0)
    await register(store, 'N1CALL')
    expect((await newer(store, 'N1CALL')).messages).to.deep.equal([])
  })

  // Shows: sidecar 11.18, 14.1, 21.7.
  it('housekeeping keeps a station after a recent heartbeat without changes', async () => {
    await register(store, 'N1CALL')
    await stores.shift(3 * HOUR)
    await register(store, 'N1CALL')
    expect(await store.housekeeping.expire(stores.now() - HOUR, NEVER)).to.equal(0)
  })

  it('housekeeping keeps cursors and known duplicates of the stations that remain', async () => {
    await register(store, 'N1CALL', 'N2CALL')
    await append(store, message('one', { to: 'N2CALL' }))
    const first = await newer(store, 'N2CALL')
    await stores.shift(2 * HOUR)
    const boundary = stores.now() - HOUR
    await register(store, 'N2CALL')
    const two = message('two', { to: 'N2CALL', seqId: '2' })
    await append(store, two)
    await store.housekeeping.expire(boundary, NEVER)
    await store.housekeeping.tidy(NEVER)
    const next = await newer(store, 'N2CALL', first.answerStamp)
    expect(texts(next.messages)).to.deep.equal(['two'])
    expect(next.answerStamp).to.be.above(first.answerStamp)
    expect(await held(store, 'N2CALL')).to.deep.equal(['one', 'two'])
    expect((await append(store, two))[0]?.kind).to.equal('duplicate')
  })

  it('housekeeping removes neither messages nor avatars of registered stations', async () => {
    await store.stations.register(registration('N1CALL', { avatar: { icon: 'car', image: '', hash: 'icon:car' } }))
    await append(store, message('one', { to: 'N1CALL' }))
    await stores.shift(48 * HOUR)
    expect(await store.housekeeping.tidy(NEVER)).to.equal(0)
    expect(await held(store, 'N1CALL')).to.deep.equal(['one'])
    expect((await store.stations.avatars(['N1CALL'])).size).to.equal(1)
  })

  it('aborted housekeeping removes nothing and throws no error', async () => {
    await register(store, 'N1CALL', 'N2CALL')
    await stores.shift(2 * HOUR)
    expect(await store.housekeeping.expire(stores.now() - HOUR, AbortSignal.abort())).to.equal(0)
    expect(await store.housekeeping.tidy(AbortSignal.abort())).to.equal(0)
    expect(store.stations.size).to.equal(2)
  })

  it('reports the size of the store in bytes', async () => {
    expect(await store.housekeeping.sizeBytes()).to.be.above(0)
  })
}
