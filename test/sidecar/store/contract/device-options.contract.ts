import { expect } from 'chai'
import type { ReceivedAck } from '../../../../sidecar/messages/acks/received-acks.ts'
import { blockedList } from '../../../../sidecar/messages/devices/blocked-senders.ts'
import { NO_OPTIONS } from '../../../../sidecar/messages/devices/device-options.ts'
import type { ReceivedMessage, Registration, Store } from '../../../../sidecar/messages/store.ts'
import { append, message, newer, registration, SETTINGS, texts } from '../sqlite/temporary-stores.ts'
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
  const blocking = (...entries: readonly string[]) => ({
    options: { ...NO_OPTIONS, blocked: blockedList(entries) },
  })
  const textsFor = async (device: string, since = 0) => texts((await newer(store, KEY, since, device)).messages)
  const from = (sender: string, text = `of ${sender}`) => message(text, { from: sender })
  /** Ends the coalescing window. Returns the message count and the newest text of each notification, by device id. */
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
  it('each device has the options that its last registration set', async () => {
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
  it('a device gets no messages of senders that it blocked, but other devices do', async () => {
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
    expect(await textsFor('one')).to.deep.equal(['of W1AW-7', 'of K2ABC'])
    expect(await textsFor('two')).to.have.length(5)
    expect((await newer(store, KEY, 0, 'one')).answerStamp).to.equal(last)
    expect(await newer(store, KEY, last, 'one')).to.deep.include({ messages: [] })
    await register('one', blocking('K2ABC'))
    expect(await textsFor('one')).to.deep.equal(['of W1AW', 'of W1AW-7', 'of K1ABC-2', 'last'])
  })

  // Shows: sidecar C17.1.
  it('a device is not notified of messages from senders that it blocked', async () => {
    await register('one', blocking('W1AW'))
    await register('two')
    await append(store, from('K1ABC'), from('W1AW'))
    expect(await notified()).to.deep.equal({ one: '1 of K1ABC', two: '2 of W1AW' })
    await append(store, from('W1AW', 'later'))
    expect(await notified()).to.deep.equal({ two: '1 later' })
  })

  // Shows: sidecar C17.1.
  it('a blocked message is not pushed after a restart, or after unblocking its sender', async () => {
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
    expect(await isAcked('W1AW', 'a')).to.equal(false)
    expect(await isAcked('K1ABC', 'a')).to.equal(true)
    await register('two')
    expect(await isAcked('W1AW', 'b')).to.equal(false)
    await register('two', { ackMessages: true })
    expect(await isAcked('W1AW', 'c')).to.equal(true)
  })

  describe('Devices that want messages to any SSID', () => {
    const ANY_SSID = { options: { ...NO_OPTIONS, anySsid: true } }
    const OTHER = 'N0CALL-9'
    /** Returns a message to the other SSID as the receiver stores it: for that SSID's ring, and for the ring of KEY. */
    const toOther = (text: string, changes: Partial<ReceivedMessage> = {}) => [
      message(text, { to: OTHER, ...changes }),
      message(text, { to: OTHER, ring: KEY, ...changes }),
    ]

    // Shows: sidecar C17.6.
    it('only a device with anySsid gets messages to other SSIDs, in order of arrival', async () => {
      await register('one', ANY_SSID)
      await register('two')
      await store.stations.register(registration(OTHER))
      const outcomes = await append(store, 'own', ...toOther('other'), 'later')
      expect(outcomes.map(({ kind }) => kind)).to.deep.equal(['stored', 'stored', 'stored', 'stored'])
      const { messages, answerStamp } = await newer(store, KEY, 0, 'one')
      expect(messages.map(({ to, ring, text }) => [to, ring, text.toString()])).to.deep.equal([
        [KEY, undefined, 'own'],
        [OTHER, KEY, 'other'],
        [KEY, undefined, 'later'],
      ])
      expect(answerStamp).to.equal(messages.at(-1)?.stamp)
      expect(await textsFor('two')).to.deep.equal(['own', 'later'])
      expect(texts((await newer(store, OTHER)).messages)).to.deep.equal(['other'])
      expect(await append(store, ...toOther('other'))).to.deep.equal([
        { kind: 'duplicate', ack: false },
        { kind: 'duplicate', ack: false },
      ])
    })

    // Shows: sidecar C17.6.
    it('stores a message to an unregistered SSID only for stations with anySsid devices', async () => {
      await register('one', ANY_SSID)
      await store.stations.register(registration('N0CALL-5', ANY_SSID))
      const copies = [message('a', { to: OTHER, ring: KEY }), message('a', { to: OTHER, ring: 'N0CALL-5' })]
      const outcomes = await append(store, ...toOther('a').slice(0, 1), ...copies, ...copies)
      expect(outcomes.map(({ kind }) => kind)).to.deep.equal([
        'no_station',
        'stored',
        'stored',
        'duplicate',
        'duplicate',
      ])
      for (const [station, device] of [
        [KEY, 'one'],
        ['N0CALL-5', ''],
      ] as const)
        expect(texts((await newer(store, station, 0, device)).messages)).to.deep.equal(['a'])
    })

    // Shows: sidecar C17.6.
    it('keeps messages to other SSIDs over a restart, and recognizes their duplicates', async () => {
      await register('one', ANY_SSID)
      await append(store, ...toOther('other'))
      await store.close()
      store = await stores.open()
      expect((await newer(store, KEY, 0, 'one')).messages.map(({ to }) => to)).to.deep.equal([OTHER])
      expect((await append(store, ...toOther('other'))).map(({ kind }) => kind)).to.deep.equal([
        'no_station',
        'duplicate',
      ])
      await register('one')
      expect(await textsFor('one')).to.deep.equal([])
    })

    // Shows: sidecar C17.6.
    it('notifies only devices with anySsid of a message to another SSID', async () => {
      await register('one', ANY_SSID)
      await register('two')
      await append(store, 'own', ...toOther('other'))
      expect(await notified()).to.deep.equal({ one: '2 other', two: '1 own' })
      await append(store, ...toOther('another'))
      await store.close()
      store = await stores.open()
      expect(await notified()).to.deep.equal({ one: '1 another' })
    })

    // Shows: sidecar C17.7.
    it('acknowledges a message only if the addressed SSID itself wants acks', async () => {
      await register('one', { ackMessages: true, ...ANY_SSID })
      const acksOf = async (text: string) =>
        (await store.history.append(toOther(text), true)).map((outcome) => outcome.kind === 'stored' && outcome.ack)
      expect(await acksOf('a')).to.deep.equal([false, false])
      await store.stations.register(registration(OTHER, { ackMessages: true }))
      expect(await acksOf('b')).to.deep.equal([true, false])
      await store.stations.register(registration(OTHER))
      await stores.shift(60_000)
      expect(await acksOf('c')).to.deep.equal([false, false])
    })

    // Shows: sidecar C17.6.
    it('lists the stations with an anySsid device, and notifies listeners of each change', async () => {
      let changes = 0
      store.stations.onChange(() => {
        changes += 1
      })
      const besides = (...addressees: readonly string[]) => addressees.map((to) => store.stations.besides(to))
      await register('one')
      expect(besides(OTHER)).to.deep.equal([[]])
      expect(store.stations.anySsidKeys()).to.deep.equal([])
      expect(changes).to.equal(1)
      await register('one', ANY_SSID)
      expect(changes).to.equal(2)
      const ringOwners = besides(OTHER, 'N0CALL-XY', KEY, 'N0CALLX', 'N0CAL', 'N0CALL-123', 'N0CALL-', 'N0CALL-9-1')
      expect(ringOwners).to.deep.equal([[KEY], [KEY], [], [], [], [], [], []])
      await store.close()
      store = await stores.open()
      expect(store.stations.anySsidKeys()).to.deep.equal([KEY])
      await store.stations.remove(KEY)
      expect(besides(OTHER)).to.deep.equal([[]])
      expect(store.stations.anySsidKeys()).to.deep.equal([])
    })
  })

  describe('Devices that want acks', () => {
    const WANTING = { options: { ...NO_OPTIONS, wantAcks: true } }
    const ackOf = (seqId: string, changes: Partial<ReceivedAck> = {}): ReceivedAck => ({
      ...{ from: 'W1AW', to: KEY, seqId, kind: 'ack' },
      ...changes,
    })
    const receive = (...acks: readonly ReceivedAck[]) => store.receivedAcks.append(acks)
    const acksOf = async (device: string, since = 0) => (await newer(store, KEY, since, device)).acks
    const numbers = async (device: string, since = 0) =>
      (await acksOf(device, since))?.map(({ kind, seqId }) => `${kind} ${seqId}`)

    // Shows: sidecar C17.4.
    it('a device that wants acks gets each ack once, sorted with messages by stamp', async () => {
      await register('one', WANTING)
      await register('two')
      await append(store, 'before')
      expect(await receive(ackOf('1'), ackOf('2', { kind: 'rej', from: 'K1ABC-9' }))).to.equal(2)
      const first = await newer(store, KEY, 0, 'one')
      expect(first.acks?.map(({ stamp: _, ...ack }) => ack)).to.deep.equal([
        { from: 'W1AW', to: KEY, seqId: '1', kind: 'ack' },
        { from: 'K1ABC-9', to: KEY, seqId: '2', kind: 'rej' },
      ])
      expect(first.answerStamp).to.equal(first.acks?.at(-1)?.stamp)
      await append(store, 'after')
      await receive(ackOf('3'))
      const second = await newer(store, KEY, first.answerStamp, 'one')
      expect(texts(second.messages)).to.deep.equal(['after'])
      expect(second.acks?.map(({ seqId }) => seqId)).to.deep.equal(['3'])
      expect(second.acks?.[0]?.stamp).to.be.above(second.messages[0]?.stamp ?? 0)
      expect(await numbers('one', second.answerStamp)).to.deep.equal([])
      expect(await acksOf('two')).to.equal(undefined)
    })

    // Shows: sidecar C17.4.
    it("a heartbeat does not move a device's cursor past an ack that the device wants", async () => {
      await register('one', WANTING)
      await register('two')
      const cursor = (await newer(store, KEY, 0, 'one')).answerStamp
      await receive(ackOf('1'))
      expect(await store.cursors.stampFor(KEY, 'one', cursor)).to.equal(cursor)
      const [ack] = (await acksOf('one')) ?? []
      expect(await store.cursors.stampFor(KEY, 'two', cursor)).to.be.at.least(ack?.stamp ?? 0)
    })

    it('stores repeated acks once within 2 hours, and again after that', async () => {
      await register('one', WANTING)
      expect(await receive(ackOf('1'), ackOf('1'))).to.equal(1)
      const counts = await Promise.all([receive(ackOf('1}2')), receive(ackOf('2')), receive(ackOf('2'))])
      expect(counts).to.have.members([0, 1, 0])
      expect(await receive(ackOf('1', { from: 'K1ABC' }), ackOf('1', { kind: 'rej' }))).to.equal(2)
      await stores.shift(SETTINGS.history.duplicateMinutes * 60_000)
      expect(await receive(ackOf('1'))).to.equal(1)
      expect(await numbers('one')).to.deep.equal(['ack 1', 'ack 2', 'ack 1', 'rej 1', 'ack 1'])
    })

    // Shows: sidecar C17.5.
    it('keeps the newest 50 received acks over a restart, until the station is removed', async () => {
      await register('one', WANTING)
      await store.stations.register(registration('W1AW', WANTING))
      await receive(ackOf('other', { to: 'W1AW' }))
      const sent = Array.from({ length: 60 }, (_, index) => `${index}`)
      for (const slice of [sent.slice(0, 20), sent.slice(20)]) await receive(...slice.map((seqId) => ackOf(seqId)))
      await store.close()
      store = await stores.open()
      expect(await numbers('one')).to.deep.equal(sent.slice(10).map((seqId) => `ack ${seqId}`))
      expect((await newer(store, 'W1AW')).acks).to.have.length(1)
      await store.stations.remove(KEY)
      await register('one', WANTING)
      expect(await numbers('one')).to.deep.equal([])
    })

    // Shows: sidecar C17.5.
    it('stores and pushes no ack for a station if no device wants acks', async () => {
      await register('two')
      expect(await receive(ackOf('1'), ackOf('1', { to: 'K9NONE' }))).to.equal(0)
      await register('one', WANTING)
      expect(await receive(ackOf('1'))).to.equal(1)
      expect(await notified()).to.deep.equal({})
      await register('one')
      expect(await acksOf('one')).to.equal(undefined)
    })
  })
}
