import { expect } from 'chai'
import type { PushClaim } from '../../../../sidecar/messages/push-queue.ts'
import type { PushResult } from '../../../../sidecar/messages/reports/push-result.ts'
import type { Registration, Store } from '../../../../sidecar/messages/store.ts'
import { append, message, registration } from '../sqlite/temporary-stores.ts'
import type { ContractStores } from './stores.ts'

const WINDOW_MS = 2000
const ROOM = { android: 10, ios: 10, webpush: 10 }
const SETTINGS = { push: { coalesceMs: WINDOW_MS }, ack: { minIntervalMs: 29_000, maxPerSenderPerMinute: 10 } }
const REFUSED: PushResult = { at: 1_700_000_000_000, outcome: 'refused', reason: 'the payload is too large' }
const ACCEPTED: PushResult = { at: 1_700_000_001_000, outcome: 'accepted', reason: null }

/** The contract of reports to the operator for every store. Call it inside a `describe`. */
export function reportsContract(stores: ContractStores): void {
  let store: Store
  beforeEach(async () => {
    store = await stores.open(SETTINGS)
  })

  const register = async (key: string, changes: Partial<Registration> = {}) => {
    await store.stations.register(registration(key, changes))
  }
  async function report(key = 'N0CALL') {
    const stationReport = await store.reports.get(key)
    if (!stationReport) throw new Error(`There is no report of ${key}.`)
    return stationReport
  }
  const ackedAt = async () => (await report()).messages.map((each) => each.ackedAt)
  async function claim(): Promise<PushClaim> {
    await stores.shift(WINDOW_MS)
    const [first] = await store.pushes.claim(ROOM)
    if (!first) throw new Error('Nothing is due.')
    return first
  }

  // Shows: sidecar O2.1.
  it("the operator's report lists stations by name in pages, with devices and pushes", async () => {
    const registeredAt = stores.now()
    for (const key of ['N2CALL', 'N0CALL', 'N1CALL']) await register(key)
    await stores.shift(5000)
    await register('N1CALL', { deviceId: 'second', pushToken: 'another' })
    await append(store, message('Hello', { to: 'N1CALL' }))
    const [first, second] = await store.reports.list('', 2)
    expect(first).to.include({ station: 'N0CALL', devices: 1, pending: 0 })
    expect(first?.lastSeenAt).to.be.within(registeredAt, registeredAt + 4999)
    expect(second).to.include({ station: 'N1CALL', devices: 2, pending: 2 })
    expect(second?.lastSeenAt).to.be.at.least(registeredAt + 5000)
    expect((await store.reports.list('N1CALL', 2)).map(({ station }) => station)).to.deep.equal(['N2CALL'])
    expect(await store.reports.list('N2CALL', 2)).to.deep.equal([])
  })

  it("the operator's report lists devices of a station in order of registration", async () => {
    const avatar = { icon: 'car', image: '', hash: 'icon:car' }
    await register('N0CALL', { ackMessages: true, avatar })
    await register('N0CALL', { deviceId: 'a', platform: 'ios', pushToken: 'apple' })
    await store.stations.markTokenDead('N0CALL', 'a', 'apple')
    const { station, avatarHash, devices } = await report()
    expect({ station, avatarHash }).to.deep.equal({ station: 'N0CALL', avatarHash: 'icon:car' })
    expect(devices).to.have.length(2)
    expect(devices[0]).to.include({ platform: 'android', pushToken: 'token-of-N0CALL', tokenDead: false })
    expect(devices[0]).to.include({ ackMessages: true, pending: 0, lastPush: null })
    expect(devices[1]).to.include({ platform: 'ios', pushToken: 'apple', tokenDead: true, ackMessages: false })
    expect(devices[1]?.registeredAt).to.be.above(devices[0]?.registeredAt ?? Number.NaN)
    expect(devices[1]).not.to.have.property('id')
    expect(await store.reports.get('W1AW')).to.equal(undefined)
  })

  it("the operator's report lists messages newest first, and never their texts", async () => {
    await register('N0CALL')
    await append(store, message('secret'), message('second', { seqId: '2', from: 'K1ABC' }))
    const { messages } = await report()
    expect(messages.map(({ from, to, seqId }) => [from, to, seqId])).to.deep.equal([
      ['K1ABC', 'N0CALL', '2'],
      ['W1AW', 'N0CALL', '1'],
    ])
    expect(messages[0]?.time).to.be.above(messages[1]?.time ?? Number.NaN)
    expect(JSON.stringify(messages)).not.to.include('secret')
  })

  // Shows: sidecar O2.1.
  it("the operator's report shows the result of the last push, also after a restart", async () => {
    await register('N0CALL')
    await append(store, 'Hello')
    const claimed = await claim()
    expect((await report()).devices[0]).to.include({ pending: 1, lastPush: null })
    await store.pushes.settle(claimed, ACCEPTED)
    expect((await report()).devices[0]).to.deep.include({ pending: 0, lastPush: ACCEPTED })
    await store.close()
    store = await stores.open(SETTINGS)
    expect((await report()).devices[0]).to.deep.include({ lastPush: ACCEPTED })
  })

  it("the operator's report keeps a push's last result if later tries record no result", async () => {
    await register('N0CALL')
    await append(store, 'Hello')
    await store.pushes.retryLater(await claim(), { delayMs: 1000, tries: 1, refusals: 0 }, REFUSED)
    expect((await report()).devices[0]).to.deep.include({ pending: 1, lastPush: REFUSED })
    const secondClaim = await claim()
    await store.pushes.retryLater(secondClaim, { delayMs: 1000, tries: 1, refusals: 0 })
    await store.pushes.settle(await claim())
    expect((await report()).devices[0]).to.deep.include({ pending: 0, lastPush: REFUSED })
  })

  // Shows: sidecar O2.1.
  it("the operator's report shows when a message was first acknowledged", async () => {
    await register('N0CALL', { ackMessages: true })
    const appendedFrom = stores.now()
    await store.history.append([message('Hello'), message('unnumbered', { seqId: '' })], true)
    expect((await ackedAt())[0]).to.equal(null)
    const first = (await ackedAt())[1]
    expect(first).to.be.within(appendedFrom, stores.now())
    await stores.shift(30_000)
    const [copy] = await store.history.append([message('Hello')], true)
    expect(copy).to.deep.equal({ kind: 'duplicate', ack: true, stamp: (await report()).messages[1]?.time })
    expect(await ackedAt()).to.deep.equal([null, first])
  })

  it('acknowledging a duplicate marks the original as acknowledged in the report', async () => {
    await register('N0CALL', { ackMessages: true })
    await append(store, 'Hello', message('Hello', { from: 'K1ABC' }), message('other', { seqId: '2' }))
    expect(await ackedAt()).to.deep.equal([null, null, null])
    await stores.shift(1000)
    const [copy] = await store.history.append([message('Hello '), message('new', { seqId: '3' })], true)
    const { messages } = await report()
    expect(copy).to.deep.equal({ kind: 'duplicate', ack: true, stamp: messages[3]?.time })
    expect(messages.map((each) => each.ackedAt !== null)).to.deep.equal([true, false, false, true])
  })

  it('a duplicate of a dropped message does not mark another message as acknowledged', async () => {
    await store.close()
    store = await stores.open({ ...SETTINGS, history: { ...SMALL_RING } })
    await register('N0CALL', { ackMessages: true })
    await append(store, 'Hello', message('second', { seqId: '2' }))
    const [copy] = await store.history.append([message('Hello')], true)
    expect(copy).to.deep.equal({ kind: 'duplicate', ack: true })
    expect(await ackedAt()).to.deep.equal([null])
  })
}

const SMALL_RING = { perStation: 1, duplicateMinutes: 45, duplicateSecondsUnnumbered: 30 }
