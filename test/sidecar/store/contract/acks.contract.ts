import { expect } from 'chai'
import type { Store } from '../../../../sidecar/messages/store.ts'
import { message, register, registration } from '../sqlite/temporary-stores.ts'
import type { ContractStores } from './stores.ts'

const INTERVAL_MS = 31_000

/** The contract of acknowledged messages for every store. Call it inside a `describe`. */
export function acksContract(stores: ContractStores): void {
  let store: Store
  beforeEach(async () => {
    store = await stores.open({ ack: { minIntervalMs: INTERVAL_MS, maxPerSenderPerMinute: 3 } })
    await store.stations.register(registration('N0CALL', { ackMessages: true }))
  })

  const acksOf = async (batch: Parameters<Store['history']['append']>[0], mayAck = true) =>
    (await store.history.append(batch, mayAck)).map((outcome) => outcome.kind !== 'no_station' && outcome.ack)

  // Shows: sidecar 3.5, C4.3.
  it('the store acknowledges only numbered messages to stations that want acks', async () => {
    await register(store, 'W1AW')
    expect(await acksOf([message('a'), message('b', { seqId: '' })])).to.deep.equal([true, false])
    expect(await acksOf([message('a', { to: 'W1AW' }), message('a', { to: 'K9NONE' })])).to.deep.equal([false, false])
  })

  it('messages stored while no ack can be sent do not count towards the ack limits', async () => {
    for (let i = 0; i < 5; i += 1) expect(await acksOf([message('a')], false)).to.deep.equal([false])
    expect(await acksOf([message('a')])).to.deep.equal([true])
  })

  // Shows: sidecar 16.3, C1.16.
  it('acknowledges a retransmission at most once in each ack interval', async () => {
    expect(await acksOf([message('a'), message('a')])).to.deep.equal([true, false])
    await stores.shift(INTERVAL_MS - 1)
    expect(await acksOf([message('a')])).to.deep.equal([false])
    await stores.shift(1)
    expect(await acksOf([message('a')])).to.deep.equal([true])
  })

  it('acks are distinct by sequence id and by the source callsign as received', async () => {
    const received = (sourceAsReceived: string, seqId: string) => message('a', { sourceAsReceived, seqId })
    const batch = [received('W1AW', '1'), received('W1AW-0', '1'), received('W1AW', '2')]
    expect(await acksOf(batch)).to.deep.equal([true, true, true])
  })

  // Shows: sidecar 16.3, 21.11, C4.28.
  it('allows 3 acks per minute to a sender from one station, and 30 from all stations', async () => {
    const numbered = (count: number, changes = {}) =>
      Array.from({ length: count }, (_, index) => message('a', { seqId: `${index}`, ...changes }))
    expect(await acksOf(numbered(5))).to.deep.equal([true, true, true, false, false])
    expect(await acksOf(numbered(1, { from: 'W2AW' }))).to.deep.equal([true])
    const otherCallsigns = Array.from({ length: 10 }, (_, index) => `K${index}AB`)
    for (const key of otherCallsigns) await store.stations.register(registration(key, { ackMessages: true }))
    const acks: boolean[] = []
    for (const to of otherCallsigns) acks.push(...(await acksOf(numbered(3, { to }))))
    expect(acks.filter(Boolean)).to.have.length(27)
    await stores.shift(60_000)
    expect(await acksOf(numbered(5, { text: Buffer.from('b') }))).to.deep.equal([true, true, true, false, false])
  })
}
