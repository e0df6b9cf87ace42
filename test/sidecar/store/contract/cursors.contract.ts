import { expect } from 'chai'
import fc from 'fast-check'
import type { Store } from '../../../../sidecar/messages/store.ts'
import { propertyRuns } from '../../../support/property-runs.ts'
import { append, message, newer, register, registration, SETTINGS, stampOf, texts } from '../sqlite/temporary-stores.ts'
import type { ContractStores } from './stores.ts'

const KEY = 'N0CALL'
const PHONE = 'phone'
const WRITTEN_AFTER_MS = 10_000

/** How phones sync with a store. */
type Asking = (
  store: Store,
) => (
  ...asked: readonly [station: string, since: number, device: string]
) => Promise<{ readonly messages: readonly { readonly stamp: number }[]; readonly answerStamp: number }>

interface CursorsOptions {
  /** How often the property is tried. */
  readonly runs: number
  /** How many stores are open at once, over the same tables. Default: 1. */
  readonly instances?: number
}

/** The contract of server times in answers, for every store. Call it inside a `describe`. */
export function cursorsContract(stores: ContractStores, { runs, instances = 1 }: CursorsOptions): void {
  describe('The server time for a phone', () => {
    let store: Store
    let registeredAt: number
    let sent = 0
    beforeEach(async () => {
      store = await stores.open()
      await store.stations.register(registration(KEY, { deviceId: PHONE }))
      await register(store, 'W1AW')
      registeredAt = store.stations.get(KEY)?.registeredAt ?? Number.NaN
    })

    /** The stamp of an answer without messages. */
    const current = (since?: number) => store.cursors.stampFor(KEY, PHONE, since)
    const sync = (since: number) => newer(store, KEY, since, PHONE)
    const receive = async () => {
      await stores.shift(1000)
      sent += 1
      const time = await stampOf(store, `text ${sent}`)
      await stores.shift(1000)
      return time
    }

    // Shows: sidecar C4.19.
    it('messages to other stations advance the server time of a phone without messages', async () => {
      const time = await stampOf(store, message('for another', { to: 'W1AW' }))
      expect(await current()).to.be.at.least(time)
      expect((await sync(0)).answerStamp).to.be.at.least(time)
    })

    // Shows: sidecar C4.19.
    it("a phone's server time is its registration time until the phone sends a cursor", async () => {
      await receive()
      for (const since of [undefined, 0, 0.5, -1]) expect(await current(since)).to.equal(registeredAt)
    })

    // Shows: sidecar C4.20.
    it('the server time advances once the phone sends the cursor of the newest message', async () => {
      const times = [await receive(), await receive()]
      const { messages, answerStamp } = await sync(0)
      expect(messages.map(({ stamp }) => stamp)).to.deep.equal(times)
      expect(answerStamp).to.equal(times[1])
      expect(await current()).to.equal(registeredAt)
      expect((await sync(answerStamp)).answerStamp).to.be.at.least(answerStamp)
      expect(await current()).to.be.at.least(answerStamp)
    })

    // Shows: sidecar C4.19.
    it("the server time is the phone's newest cursor while newer messages are stored", async () => {
      const [first, second] = [await receive(), await receive()]
      await receive()
      await sync(first)
      expect(await current()).to.equal(first)
      expect(await current(second + 0.5)).to.equal(second)
      expect(await current()).to.equal(second)
    })

    // Shows: sidecar C4.20.
    it('an older cursor affects only the answer to the request that sends it', async () => {
      const [first, second] = [await receive(), await receive()]
      await receive()
      await sync(second)
      expect(await current(first)).to.equal(first)
      expect(await current()).to.equal(second)
    })

    // Shows: sidecar C4.19.
    it('the store ignores a cursor that is newer than every stamp', async () => {
      await receive()
      for (const since of [stores.now() + 1_000_000, Number.MAX_SAFE_INTEGER, 1e300]) {
        expect(await current(since)).to.equal(registeredAt)
        expect(await sync(since)).to.deep.include({ messages: [], answerStamp: registeredAt })
      }
    })

    // Shows: sidecar C4.20.
    it('a cursor survives a restart, and a crash 10 seconds after the phone sent it', async () => {
      const [first, second] = [await receive(), await receive()]
      await receive()
      await sync(first)
      await stores.shift(WRITTEN_AFTER_MS)
      await stampOf(store, message('comes after the write that is on its way', { to: 'W1AW' }))
      await sync(second)
      const crash = stores.crash?.()
      await store.close()
      store = await stores.open()
      expect(await current()).to.equal(second)
      if (!crash) return
      await store.close()
      await crash()
      store = await stores.open()
      expect(await current()).to.equal(first)
    })

    // Shows: sidecar C4.19.
    it('a station that registers again gets the server time of its new registration', async () => {
      await sync(await receive())
      await receive()
      await store.stations.remove(KEY)
      expect(await current()).to.be.above(registeredAt)
      await store.stations.register(registration(KEY, { deviceId: PHONE }))
      const repeated = await current()
      const time = await receive()
      expect(await current()).to.equal(store.stations.get(KEY)?.registeredAt)
      expect((await sync(repeated)).messages.map((item) => item.stamp)).to.deep.equal([time])
    })
  })

  describe('The server time for a phone without device id', () => {
    let store: Store
    beforeEach(async () => {
      store = await stores.open()
      await register(store, KEY)
    })

    const heartbeat = (since?: number) => store.cursors.stampFor(KEY, '', since)
    const registeredAt = () => store.stations.get(KEY)?.registeredAt

    it('messages to other stations advance the server time for a phone without device id', async () => {
      await register(store, 'W1AW')
      const time = await stampOf(store, message('for another', { to: 'W1AW' }))
      expect(await heartbeat()).to.be.at.least(time)
      expect((await newer(store, KEY, 0)).answerStamp).to.be.at.least(time)
    })

    // Shows: sidecar C16.15.
    it("a stranger's cursor does not move the server time of a phone without device id", async () => {
      const stored = await stampOf(store, 'first')
      for (const stranger of [stored, stored + 1, stores.now()]) {
        await newer(store, KEY, stranger)
        await heartbeat(stranger)
        expect(await heartbeat()).to.equal(registeredAt())
        expect(await store.cursors.stampFor(KEY, undefined)).to.equal(registeredAt())
      }
      expect((await newer(store, KEY, await heartbeat())).messages.map(({ stamp }) => stamp)).to.deep.equal([stored])
    })

    it("without a device id, the server time depends only on the request's cursor", async () => {
      const [first, second] = [await stampOf(store, 'first'), await stampOf(store, 'second')]
      expect(await heartbeat(first)).to.equal(first)
      expect(await heartbeat(second)).to.be.above(second)
      expect(await heartbeat()).to.equal(registeredAt())
    })
  })

  // Shows: sidecar 2.8, 6.3, C4.17, C4.20, C8.11.
  it('a phone gets each message, and none twice if it sends the newest cursor', () =>
    bringsEachOnce(stores, { runs, instances }))
}

/** Checks that a syncing phone misses nothing, despite starts, crashes and steps of the clock. */
export function bringsEachOnce(
  stores: ContractStores,
  {
    runs,
    instances = 1,
    asking = (store) =>
      (...asked) =>
        newer(store, ...asked),
  }: CursorsOptions & { readonly asking?: Asking },
): Promise<void> {
  const steps = fc.array(stepOf(stores), { maxLength: 12 })
  return fc.assert(
    fc.asyncProperty(steps, (each) => play(stores, each, instances, asking)),
    { numRuns: propertyRuns(runs) },
  )
}

const PHONES = [
  { station: 'K1NEW', device: '', keeps: 'newest' },
  { station: 'K1LAST', device: '', keeps: 'last' },
  // Two phones without a device id: neither moves the other's cursor.
  { station: 'K1TWO', device: '', keeps: 'newest' },
  { station: 'K1TWO', device: '', keeps: 'newest' },
  { station: 'K1MANY', device: '', keeps: 'newest' },
  { station: 'K1MANY', device: 'tablet', keeps: 'newest' },
  { station: 'K1MANY', device: 'browser', keeps: 'last' },
] as const
const STATIONS = [...new Set(PHONES.map(({ station }) => station))]

/** Size of each ring: more messages than a run sends. */
const MORE_THAN_COMES = 300

const act = fc.oneof(
  fc.record({ does: fc.constant('receive' as const), to: fc.array(fc.constantFrom(...STATIONS), { maxLength: 4 }) }),
  fc.record({
    does: fc.constantFrom(
      'sync' as const,
      'sync' as const,
      'heartbeat' as const,
      'heartbeat with its cursor' as const,
      'call without a device' as const,
    ),
    phone: fc.nat(PHONES.length - 1),
    /** Whether the answer is lost on its way to the phone. */
    isLost: fc.boolean(),
  }),
)
const stepOf = ({ crash }: ContractStores) =>
  fc.record({
    shiftMs: fc.constantFrom(0, 0, 1, 15_000, -50, -3_600_000, 3_600_000),
    /** Acts at the same time, some turns of the event loop apart, each at any instance. */
    acts: fc.array(fc.record({ act, instance: fc.nat(7), afterTurns: fc.nat(6) }), { maxLength: 6 }),
    // A crash comes some turns after the acts have begun, so that only some of them are done.
    end: fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom('go on' as const, 'restart' as const) },
      { weight: crash ? 2 : 0, arbitrary: fc.record({ crashAfterTurns: fc.nat(12) }) },
    ),
  })
type Step = ReturnType<typeof stepOf> extends fc.Arbitrary<infer T> ? T : never

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

async function play(stores: ContractStores, steps: readonly Step[], instances: number, asking: Asking): Promise<void> {
  await stores.wipe()
  const openAll = async () => {
    const history = { ...SETTINGS.history, perStation: MORE_THAN_COMES }
    const opened = await Promise.all(Array.from({ length: instances }, () => stores.open({ history })))
    return opened.map((store) => ({ store, sync: asking(store) }))
  }
  let open = await openAll()
  for (const { station, device } of PHONES)
    await open[0]?.store.stations.register(registration(station, { deviceId: device, pushToken: device }))
  const stored = new Map(STATIONS.map((station) => [station, [] as number[]]))
  const phones = PHONES.map((phone) => ({ ...phone, cursor: 0, got: [] as number[], asking: Promise.resolve() }))
  let sent = 0
  /** Number of crashes. A phone that asked before one receives nothing after it. */
  let crashes = 0

  async function ask(
    phone: (typeof phones)[number],
    { store, sync }: (typeof open)[number],
    how: string,
    isLost = () => false,
  ): Promise<void> {
    const { station, device, cursor } = phone
    const isSync = how === 'sync'
    const since = isSync || how === 'heartbeat with its cursor' ? cursor : undefined
    const { messages, answerStamp } = isSync
      ? await sync(station, cursor, device)
      : {
          messages: [],
          answerStamp: await store.cursors.stampFor(
            station,
            how === 'call without a device' ? undefined : device,
            since,
          ),
        }
    if (since !== undefined) expect(answerStamp).to.be.at.least(since)
    if (isLost()) return
    phone.got.push(...messages.map(({ stamp }) => stamp))
    if (phone.keeps === 'newest' || isSync) phone.cursor = Math.max(phone.cursor, answerStamp)
    if (phone.keeps === 'last') phone.cursor = answerStamp
  }

  async function run({ act: one, instance: index, afterTurns }: Step['acts'][number]): Promise<void> {
    const earlier = crashes
    const instance = open[index % instances] as (typeof open)[number]
    await turns(afterTurns)
    if (crashes > earlier) return
    if (one.does === 'receive') {
      const outcomes = await append(instance.store, ...one.to.map((to) => message(`text ${++sent}`, { to })))
      for (const outcome of outcomes)
        if (outcome.kind === 'stored' && crashes === earlier)
          stored.get(outcome.message.to as (typeof STATIONS)[number])?.push(outcome.message.stamp)
      return
    }
    const phone = phones[one.phone] as (typeof phones)[number]
    // A phone sends requests one after the other, because each may move its cursor.
    phone.asking = phone.asking.then(() => ask(phone, instance, one.does, () => one.isLost || crashes > earlier))
    return phone.asking
  }

  for (const { shiftMs, acts, end } of steps) {
    await stores.shift(shiftMs)
    const acting = acts.map(run)
    let putInPlace: (() => Promise<void>) | undefined
    if (typeof end === 'object') {
      await turns(end.crashAfterTurns)
      crashes += 1
      putInPlace = stores.crash?.()
    }
    await Promise.all(acting)
    if (end === 'go on') continue
    for (const { store } of open) await store.close()
    await putInPlace?.()
    open = await openAll()
  }
  const first = open[0] as (typeof open)[number]
  for (const phone of phones) {
    await ask(phone, first, 'heartbeat')
    await ask(phone, first, 'sync')
    const held = (await newer(first.store, phone.station, 0, phone.device)).messages
    const times = held.map(({ stamp }) => stamp)
    expect(phone.keeps === 'last' ? inOrder(phone.got) : phone.got).to.deep.equal(times)
    // More are possible: messages stored before a crash, without a notification to any phone.
    expect(times).to.include.members(stored.get(phone.station) ?? [])
    expect(new Set(texts(held)).size).to.equal(held.length)
  }
  for (const { store } of open) await store.close()
}

const inOrder = (times: readonly number[]) => [...new Set(times)].sort((a, b) => a - b)
