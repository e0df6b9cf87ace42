import { expect } from 'chai'
import fc from 'fast-check'
import type { ReceivedAck } from '../../../../sidecar/messages/acks/received-acks.ts'
import { type DeviceOptions, NO_OPTIONS, takes } from '../../../../sidecar/messages/devices/device-options.ts'
import type { Store, StoredMessage } from '../../../../sidecar/messages/store.ts'
import { propertyRuns } from '../../../support/property-runs.ts'
import { answerIn, cacheOver } from '../../api/rings/ring-answer.ts'
import { append, message, newer, registration, SETTINGS } from '../sqlite/temporary-stores.ts'
import type { ContractStores } from './stores.ts'

const STATIONS = ['K1ABC', 'K1ABC-7', 'K1ABC-9'] as const
const PHONES = [
  { station: 'K1ABC', device: '' },
  { station: 'K1ABC', device: 'tablet' },
  { station: 'K1ABC-7', device: 'phone' },
  { station: 'K1ABC-9', device: '' },
] as const
/** Small, so that ring buffers drop messages. */
const PER_STATION = 6

const options: fc.Arbitrary<DeviceOptions> = fc.record({
  anySsid: fc.boolean(),
  wantAcks: fc.boolean(),
  blocked: fc.constantFrom([], [], ['W1AW'], ['W*']),
})
const phone = fc.nat(PHONES.length - 1)
const act = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      does: fc.constant('receive' as const),
      from: fc.constantFrom('W1AW', 'W2AW-1', 'K2ABC'),
      to: fc.constantFrom(...STATIONS, 'K1ABC-5'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ does: fc.constant('receive an ack' as const), to: fc.constantFrom(...STATIONS) }),
  },
  { weight: 5, arbitrary: fc.record({ does: fc.constant('sync' as const), phone, isLost: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('heartbeat' as const), phone }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('register' as const), phone, options }) },
)
const step = fc.record({
  /** Acts at the same time, each at any instance. */
  acts: fc.array(fc.record({ act, instance: fc.nat(7) }), { maxLength: 8, size: 'max' }),
  // Restarts are rare, because they empty the rings in memory.
  isRestart: fc.nat(5).map((number) => number === 0),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** An answer to a phone with these options. `since` is the cursor in its request. */
interface Answer {
  readonly station: string
  readonly options: DeviceOptions
  readonly since: number
  readonly through: number
  readonly messages: readonly number[]
  readonly acks: readonly number[] | undefined
  readonly isTruncated: boolean
}

/** The contract of cursors while options are switched on and off. Call it inside a `describe`. */
export function optionCursorsContract(
  stores: ContractStores,
  { runs, instances = 1 }: { readonly runs: number; readonly instances?: number },
): void {
  // Shows: sidecar C4.17, C4.31, C17.1, C17.4, C17.6.
  it("a sync returns exactly what the device's options request, unless it is truncated", () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14, size: 'max' }), (steps) => play(stores, steps, instances)),
      { numRuns: propertyRuns(runs) },
    ))
}

async function play(stores: ContractStores, steps: readonly Step[], instances: number): Promise<void> {
  await stores.wipe()
  const history = { ...SETTINGS.history, perStation: PER_STATION }
  const openAll = async () => {
    const opened = await Promise.all(Array.from({ length: instances }, () => stores.open({ history })))
    return opened.map((store) => ({ store, rings: cacheOver(store) }))
  }
  let open = await openAll()
  const phones = PHONES.map((phone) => ({ ...phone, options: NO_OPTIONS, cursor: 0, busy: Promise.resolve() }))
  const register = async (store: Store, { station, device }: (typeof PHONES)[number], options: DeviceOptions) =>
    void (await store.stations.register(registration(station, { deviceId: device, pushToken: device, options })))
  for (const phone of PHONES) await register((open[0] as (typeof open)[number]).store, phone, NO_OPTIONS)
  const stored: StoredMessage[] = []
  const answers: Answer[] = []
  let sent = 0

  async function sync(phone: (typeof phones)[number], { rings }: (typeof open)[number], isLost: boolean) {
    const { station, device, options, cursor: since } = phone
    const answer = await rings.since(station, device, since)
    const { messages, acks } = answerIn(answer)
    const { serverTime: through = 0, isTruncated = false } = answer ?? {}
    const times = messages.map(({ time }) => time)
    answers.push({
      ...{ station, options, since, through, messages: times, isTruncated },
      acks: acks?.map(({ time }) => time),
    })
    if (!isLost) phone.cursor = Math.max(phone.cursor, through)
  }

  async function heartbeat(phone: (typeof phones)[number], { store }: (typeof open)[number]) {
    const { station, device, options, cursor: since } = phone
    const through = await store.cursors.stampFor(station, device, since)
    const acks = options.wantAcks ? [] : undefined
    answers.push({ station, options, since, through, messages: [], acks, isTruncated: false })
    phone.cursor = Math.max(phone.cursor, through)
  }

  async function run({ act, instance: index }: Step['acts'][number]): Promise<void> {
    const instance = open[index % instances] as (typeof open)[number]
    if (act.does === 'receive') {
      const { from, to } = act
      sent += 1
      const sentMessage = message(`text ${sent}`, { from, to })
      const copies = STATIONS.filter((ring) => ring !== to).map((ring) => ({ ...sentMessage, ring }))
      for (const outcome of await append(instance.store, sentMessage, ...copies))
        if (outcome.kind === 'stored') stored.push(outcome.message)
      return
    }
    if (act.does === 'receive an ack') {
      sent += 1
      const ack: ReceivedAck = { from: 'W1AW', to: act.to, seqId: String(sent), kind: 'ack' }
      await instance.store.receivedAcks.append([ack])
      return
    }
    const phone = phones[act.phone] as (typeof phones)[number]
    // A phone sends one request after the other.
    phone.busy = phone.busy.then(async () => {
      if (act.does === 'sync') return sync(phone, instance, act.isLost)
      if (act.does === 'heartbeat') return heartbeat(phone, instance)
      await register(instance.store, phone, act.options)
      phone.options = act.options
    })
    return phone.busy
  }

  for (const { acts, isRestart } of steps) {
    await Promise.all(acts.map(run))
    if (!isRestart) continue
    for (const { store } of open) await store.close()
    open = await openAll()
  }
  const [first] = open
  if (!first) return
  for (const phone of phones) await sync(phone, first, false)
  const acks = new Map<string, readonly number[]>()
  for (const { station, device } of PHONES) {
    await register(first.store, { station, device } as (typeof PHONES)[number], { ...NO_OPTIONS, wantAcks: true })
    acks.set(station, (await newer(first.store, station, 0, device)).acks?.map(({ stamp }) => stamp) ?? [])
  }
  for (const answer of answers) check(answer, stored, acks.get(answer.station) ?? [])
  for (const { store } of open) await store.close()
}

function check(answer: Answer, stored: readonly StoredMessage[], ackStamps: readonly number[]): void {
  const { station, options, since, through, messages, acks, isTruncated } = answer
  expect(through).to.be.at.least(since)
  const isNew = (stamp: number) => stamp > since && stamp <= through
  const wanted = stored
    .filter((item) => (item.ring ?? item.to) === station && isNew(item.stamp) && takes(options, item))
    .map(({ stamp }) => stamp)
    .sort((a, b) => a - b)
  // A ring drops its oldest messages first.
  expect(messages).to.deep.equal(isTruncated ? wanted.slice(wanted.length - messages.length) : wanted)
  expect(acks).to.deep.equal(options.wantAcks ? ackStamps.filter(isNew) : undefined)
}
