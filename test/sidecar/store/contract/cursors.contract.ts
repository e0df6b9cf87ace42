import { expect } from 'chai'
import type { Store } from '../../../../sidecar/messages/store.ts'
import { append, message, newer, register } from '../sqlite/temporary-stores.ts'
import type { ContractStores } from './stores.ts'

const KEY = 'N0CALL'

/**
 * Which server time an answer without messages may give, whatever the store is. To be called inside a `describe`.
 *
 * @param writtenAfterMs how long after an answer has gone out a clean stop is sure to have it written down
 */
export function cursorsContract(stores: ContractStores, writtenAfterMs = 0): void {
  let store: Store
  let sent = 0
  beforeEach(async () => {
    store = await stores.open()
    await register(store, KEY, 'W1AW')
  })

  async function reopened(): Promise<void> {
    await store.close()
    store = await stores.open()
  }

  const current = () => store.cursors.current(KEY)
  const receive = async () => {
    await stores.shift(1000)
    sent += 1
    const [outcome] = await append(store, `text ${sent}`)
    await stores.shift(1000)
    return outcome?.kind === 'stored' ? outcome.message.time : Number.NaN
  }
  /** What a sync does; the answer has gone out once `sent` of what it returns was called. */
  const sync = async (since: number) => {
    const { messages, serverTime } = await newer(store, KEY, since)
    return {
      times: messages.map(({ time }) => time),
      serverTime,
      delivery: store.cursors.handOut(KEY, since, serverTime),
    }
  }
  const syncAndReceipt = async (since: number) => {
    const answer = await sync(since)
    answer.delivery.sent()
    return answer
  }

  it('is as new as what is stored for others while there is nothing to be handed out', async () => {
    const [outcome] = await append(store, message('for another', { to: 'W1AW' }))
    expect(await current()).to.be.above(outcome?.kind === 'stored' ? outcome.message.time : Number.NaN)
  })

  it('is older than a message that was not handed out, and the same until it is', async () => {
    const first = await current()
    const time = await receive()
    for (let times = 0; times < 2; times += 1) expect(await current()).to.equal(first)
    const answer = await syncAndReceipt(first)
    expect(answer.times).to.deep.equal([time])
    expect(await current()).to.be.at.least(answer.serverTime)
  })

  it('is that of the answer that handed out messages when others came since, over a restart too', async () => {
    await receive()
    const { serverTime } = await syncAndReceipt(0)
    const later = await receive()
    expect(await current()).to.equal(serverTime)
    await stores.shift(writtenAfterMs)
    await reopened()
    expect(await current()).to.equal(serverTime)
    expect((await sync(serverTime)).times).to.deep.equal([later])
  })

  it('is not moved by an answer that did not go out, or was lost on the way', async () => {
    const first = await current()
    const time = await receive()
    await sync(first)
    expect(await current()).to.be.below(time)
    const { delivery } = await sync(first)
    delivery.sent()
    delivery.lost()
    expect(await current()).to.be.below(time)
    const { serverTime } = await syncAndReceipt(first)
    expect(await current()).to.be.at.least(serverTime)
  })

  it('is that of an answer whose loss shows only after the phone came back with what it brought', async () => {
    await receive()
    const { serverTime, delivery } = await syncAndReceipt(0)
    await syncAndReceipt(serverTime)
    delivery.lost()
    expect(await current()).to.be.at.least(serverTime)
  })

  it('is not moved by somebody who looks at the history from its beginning', async () => {
    const first = await current()
    await syncAndReceipt(first)
    const time = await receive()
    await syncAndReceipt(0)
    expect(await current()).to.be.below(time)
  })

  it('is not moved by who says to have more than there is, nor by anybody for a station that is not registered', async () => {
    const time = await receive()
    const { serverTime } = await sync(0)
    const ahead = store.cursors.handOut(KEY, serverTime + 1, serverTime)
    ahead.sent()
    ahead.lost()
    expect(await current()).to.be.below(time)
    store.cursors.handOut(KEY, serverTime, serverTime)
    expect(await current()).to.be.at.least(serverTime)
    store.cursors.handOut('W2AW', 0, serverTime).sent()
    expect(await store.cursors.current('W2AW')).to.be.at.least(serverTime)
  })

  it('is that of the newest cursor that the phone brought, also where the answer to it is lost', async () => {
    const time = await receive()
    const { serverTime } = await sync(0)
    const { delivery } = await sync(serverTime)
    delivery.sent()
    await receive()
    expect(await current()).to.be.at.least(serverTime)
    delivery.lost()
    expect(await current()).to.be.within(time, serverTime)
  })

  it('is older than the messages of a station that registers again', async () => {
    await receive()
    const { serverTime } = await syncAndReceipt(0)
    await receive()
    await store.stations.remove(KEY)
    await register(store, KEY)
    const again = await current()
    expect(again).to.be.above(serverTime)
    const time = await receive()
    expect(await current()).to.equal(again)
    expect((await sync(again)).times).to.deep.equal([time])
  })
}
