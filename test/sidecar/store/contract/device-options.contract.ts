import { expect } from 'chai'
import { blockedList } from '../../../../sidecar/messages/devices/blocked-senders.ts'
import type { Registration, Store } from '../../../../sidecar/messages/store.ts'
import { append, message, newer, registration, texts } from '../sqlite/temporary-stores.ts'
import type { ContractStores } from './stores.ts'

const KEY = 'N0CALL'
const FREE = { android: 100, ios: 100, webpush: 100 }

/** The contract of the options of devices, for every store. Call it inside a `describe`. */
export function deviceOptionsContract(stores: ContractStores): void {
  let store: Store
  beforeEach(async () => {
    store = await stores.open()
  })

  const register = (deviceId: string, changes: Partial<Registration> = {}) =>
    store.stations.register(registration(KEY, { deviceId, pushToken: `token-of-${deviceId}`, ...changes }))
  const blocking = (...entries: readonly string[]) => ({ options: { blocked: blockedList(entries) } })
  const seen = async (device: string, since = 0) => texts((await newer(store, KEY, since, device)).messages)
  const from = (sender: string, text = `of ${sender}`) => message(text, { from: sender })
  /** The devices that are notified now, with the number and the newest of their messages. */
  async function notified(): Promise<Readonly<Record<string, string>>> {
    await stores.shift(2000)
    const claims = await store.pushes.claim(FREE)
    for (const claim of claims) await store.pushes.settle(claim)
    return Object.fromEntries(
      claims.map(({ device, unpushed: { count, newest } }) => [device.id, `${count} ${newest.text}`]),
    )
  }
  const isAcked = async (sender: string, text: string) => {
    const [outcome] = await store.history.append([from(sender, text)], true)
    return outcome?.kind === 'stored' && outcome.ack
  }

  // Shows: sidecar C17.3.
  it('keeps the options of each device as its last registration set them', async () => {
    await register('one', blocking('w1aw-0', 'K1*', 'w1aw'))
    await register('two')
    const blocked = () =>
      Object.fromEntries(store.stations.get(KEY)?.devices.map(({ id, options }) => [id, options.blocked]) ?? [])
    expect(blocked()).to.deep.equal({ one: ['K1*', 'W1AW'], two: [] })
    await store.close()
    store = await stores.open()
    expect(blocked()).to.deep.equal({ one: ['K1*', 'W1AW'], two: [] })
    await register('one')
    await register('two', blocking('*'))
    expect(blocked()).to.deep.equal({ one: [], two: ['*'] })
  })

  // Shows: sidecar C17.1.
  it('a device does not get messages of senders that it blocked, other devices do', async () => {
    await register('one', blocking('W1AW', 'K1*'))
    await register('two')
    const stored = await append(
      store,
      from('W1AW'),
      from('W1AW-7'),
      from('K1ABC-2'),
      from('K2ABC'),
      from('W1AW', 'last'),
    )
    const last = stored[4]?.kind === 'stored' ? stored[4].message.stamp : 0
    expect(await seen('one')).to.deep.equal(['of W1AW-7', 'of K2ABC'])
    expect(await seen('two')).to.have.length(5)
    expect((await newer(store, KEY, 0, 'one')).answerStamp).to.equal(last)
    expect(await newer(store, KEY, last, 'one')).to.deep.include({ messages: [] })
    await register('one', blocking('K2ABC'))
    expect(await seen('one')).to.deep.equal(['of W1AW', 'of W1AW-7', 'of K1ABC-2', 'last'])
  })

  // Shows: sidecar C17.1.
  it('a device is not notified of messages of senders that it blocked', async () => {
    await register('one', blocking('W1AW'))
    await register('two')
    await append(store, from('K1ABC'), from('W1AW'))
    expect(await notified()).to.deep.equal({ one: '1 of K1ABC', two: '2 of W1AW' })
    await append(store, from('W1AW', 'later'))
    expect(await notified()).to.deep.equal({ two: '1 later' })
  })

  // Shows: sidecar C17.1.
  it('pushes no blocked message after a restart, nor once its sender is unblocked', async () => {
    await register('one', blocking('W1AW'))
    await append(store, from('W1AW'))
    await store.close()
    store = await stores.open()
    expect(await notified()).to.deep.equal({})
    await register('one')
    await append(store, from('W1AW', 'later'))
    expect(await notified()).to.deep.equal({ one: '1 later' })
  })

  // Shows: sidecar C17.2.
  it('acknowledges a message only if a device wants acks and does not block the sender', async () => {
    await register('one', { ackMessages: true, ...blocking('W1*') })
    expect([await isAcked('W1AW', 'a'), await isAcked('K1ABC', 'a')]).to.deep.equal([false, true])
    await register('two')
    expect(await isAcked('W1AW', 'b')).to.equal(false)
    await register('two', { ackMessages: true })
    expect(await isAcked('W1AW', 'c')).to.equal(true)
  })
}
