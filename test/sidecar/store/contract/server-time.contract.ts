import { expect } from 'chai'
import fc from 'fast-check'
import type { Store } from '../../../../sidecar/messages/store.ts'
import { propertyRuns } from '../../../support/property-runs.ts'
import { append, message, newer, register, registration, SETTINGS, stampOf } from '../sqlite/temporary-stores.ts'
import type { ContractStores } from './stores.ts'

const HOUR = 3_600_000
const STATIONS = ['N0CALL', 'W1AW'] as const

/** How a phone asks what is new. */
type Ask = (
  station: string,
  since: number,
) => Promise<{ readonly messages: readonly Shown[]; readonly serverTime: number }>
interface Shown {
  readonly time: number
  /** Compared as text. */
  readonly text: { toString(): string }
}

interface SyncOptions {
  /** Of the properties. */
  readonly runs: number
  /** How many messages of a station a large ring holds: more than arrive. Default: 1,000. */
  readonly largeRing?: number
  /** Whether no two stamps are the same, which is promised for those alone between which something was stored. */
  readonly distinct?: boolean
  /** Default: of the store itself. */
  readonly asking?: (store: Store) => Ask
  /** What a test's name says of that. */
  readonly way?: string
}

/** What every store promises of its stamps. To be called inside a `describe`. */
export function serverTimeContract(stores: ContractStores, options: SyncOptions): void {
  let store: Store
  beforeEach(async () => {
    store = await stores.open()
    await register(store, ...STATIONS)
  })

  let sent = 0
  const receive = (to: string = STATIONS[0]) => stampOf(store, message(`text ${++sent}`, { to }))
  const expectGrowing = (stamps: readonly number[]) =>
    expect(stamps).to.deep.equal([...new Set(stamps)].sort((one, other) => one - other))

  it('is newer than everything that is stored, and older than whatever is stored later, of any station', async () => {
    const stamps = [await receive()]
    for (const to of STATIONS) stamps.push(await store.serverTime.issue(), await receive(to))
    expectGrowing(stamps)
  })

  it('is the time in milliseconds, when next to nothing happens', async () => {
    await stores.shift(HOUR)
    expect(await receive()).to.be.closeTo(stores.now(), 1)
  })

  it('does not go back with the clock, over a restart either', async () => {
    const stamps = [await receive()]
    await stores.shift(-1000 * HOUR)
    stamps.push(await store.serverTime.issue(), await receive())
    await store.close()
    store = await stores.open()
    stamps.push(await store.serverTime.issue(), await receive())
    expectGrowing(stamps)
  })

  it('of a registration is newer than what was issued before, and older than what comes for the station', async () => {
    const before = await receive()
    const outcome = await store.stations.register(registration('K9NEW', { platform: 'ios' }))
    const registeredAt = outcome.kind === 'created' ? outcome.station.registeredAt : Number.NaN
    expect(registeredAt).to.be.above(before)
    expect(await receive('K9NEW')).to.be.above(registeredAt)
  })

  bringsEachOnce(stores, options)
}

/** That whoever syncs from cursor to cursor misses nothing and gets nothing twice. To be called inside a `describe`. */
export function bringsEachOnce(
  stores: ContractStores,
  { runs, distinct = false, asking, way = 'the store', largeRing = 1000 }: SyncOptions,
): void {
  const ask =
    asking ??
    ((store: Store): Ask =>
      (station, since) =>
        newer(store, station, since))

  it(`brings a phone that syncs by ${way} from cursor to cursor each message exactly once and in order`, () =>
    holds(largeRing, ({ acknowledged, received, crashed }) => {
      const texts = received.map(({ text }) => text.toString())
      expect(new Set(texts).size).to.equal(texts.length)
      expect(texts).to.include.members(acknowledged.map(({ text }) => text.toString()))
      if (!crashed) expect(texts).to.have.length(acknowledged.length)
    }))

  it(`brings it by ${way} at least what the ring holds, when the ring is smaller than what arrives`, () =>
    holds(3, ({ acknowledged, received }) => {
      // A crash may have kept messages that nobody was told of; they take places in the ring, too.
      const known = new Set(acknowledged.map(({ time }) => time))
      const unknown = received.filter(({ time }) => !known.has(time)).length
      const inRing = [...known].sort((one, other) => one - other).slice(unknown - 3)
      if (unknown < 3) expect(received.map(({ time }) => time)).to.include.members(inRing)
    }))

  function holds(perStation: number, expectOf: (phone: Phone) => void): Promise<void> {
    return fc.assert(
      fc.asyncProperty(fc.array(stepOf(stores), { maxLength: 8 }), async (steps) => {
        for (const phone of await play(stores, steps, { perStation, distinct, ask })) {
          const times = phone.received.map(({ time }) => time)
          expect(times).to.deep.equal([...new Set(times)].sort((one, other) => one - other))
          expectOf(phone)
        }
      }),
      { numRuns: propertyRuns(runs) },
    )
  }
}

const call = fc.oneof(
  fc.record({ do: fc.constant('append' as const), to: fc.array(fc.constantFrom(...STATIONS), { maxLength: 5 }) }),
  fc.record({ do: fc.constant('sync' as const), station: fc.constantFrom(...STATIONS) }),
  fc.record({ do: fc.constant('issue' as const) }),
)
const stepOf = ({ crash }: ContractStores) =>
  fc.record({
    shiftMs: fc.constantFrom(0, 0, 1, 3000, 40_000, -50, -HOUR, HOUR),
    // Some calls come while the transaction or the reads of others are under way.
    calls: fc.array(fc.record({ afterTurns: fc.nat(6), one: call }), { maxLength: 8 }),
    // A crash happens some turns of the event loop after the calls were made, with part of them done.
    end: fc.oneof(
      { weight: 4, arbitrary: fc.constant({ kind: 'go on' as const }) },
      { weight: 1, arbitrary: fc.constant({ kind: 'restart' as const }) },
      { weight: crash ? 2 : 0, arbitrary: fc.record({ kind: fc.constant('crash' as const), turns: fc.nat(12) }) },
    ),
  })
type Step = ReturnType<typeof stepOf> extends fc.Arbitrary<infer T> ? T : never

/** What a phone does: one sync after the other, each from the cursor that the last answer gave. */
interface Phone {
  cursor: number
  syncing: Promise<void>
  readonly received: Shown[]
  /** Of which the store has said that they are stored. */
  readonly acknowledged: Shown[]
  crashed: boolean
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

interface Play extends Required<Pick<SyncOptions, 'distinct'>> {
  readonly perStation: number
  readonly ask: (store: Store) => Ask
}

async function play(
  stores: ContractStores,
  steps: readonly Step[],
  { perStation, distinct, ask }: Play,
): Promise<readonly Phone[]> {
  const open = () => stores.open({ history: { ...SETTINGS.history, perStation } })
  await stores.wipe()
  let store = await open()
  let from = ask(store)
  await register(store, ...STATIONS)
  const phones = new Map<string, Phone>()
  for (const station of STATIONS)
    phones.set(station, { cursor: 0, syncing: Promise.resolve(), received: [], acknowledged: [], crashed: false })
  const stamps = new Set<number>()
  let newest = 0
  let sent = 0

  const note = (stamp: number) => {
    if (distinct) expect(stamps.has(stamp), `${stamp} was issued before`).to.equal(false)
    stamps.add(stamp)
  }
  const sync = (station: string, asked: Ask, alive: () => boolean) => {
    const phone = phones.get(station)!
    phone.syncing = phone.syncing.then(async () => {
      if (!alive()) return
      const { messages, serverTime } = await asked(station, phone.cursor)
      if (!alive()) return
      expect(serverTime).to.be.at.least(phone.cursor)
      for (const { time } of messages) expect(time).to.be.within(phone.cursor + 1, serverTime)
      phone.cursor = serverTime
      phone.received.push(...messages)
    })
    return phone.syncing
  }

  for (const { shiftMs, calls, end } of steps) {
    await stores.shift(shiftMs)
    const [current, asked] = [store, from]
    let crashed = false
    const alive = () => !crashed
    const issued: number[] = []
    const done = calls.map(async ({ afterTurns, one }) => {
      await turns(afterTurns)
      if (!alive()) return
      if (one.do === 'sync') return sync(one.station, asked, alive)
      if (one.do === 'issue') {
        const stamp = await current.serverTime.issue()
        if (alive()) issued.push(stamp)
        return
      }
      const batch = one.to.map((to) => message(`text ${++sent}`, { to }))
      for (const outcome of await append(current, ...batch)) {
        if (outcome.kind !== 'stored') throw new Error(`It is ${outcome.kind}.`)
        if (!alive()) continue
        issued.push(outcome.message.time)
        phones.get(outcome.message.to)?.acknowledged.push(outcome.message)
      }
    })
    let putInPlace: (() => Promise<void>) | undefined
    if (end.kind === 'crash') {
      await turns(end.turns)
      crashed = true
      putInPlace = stores.crash?.()
      for (const phone of phones.values()) phone.crashed = true
    }
    await Promise.all(done)
    for (const stamp of issued) {
      note(stamp)
      expect(stamp).to.be.at.least(newest + (distinct ? 1 : 0))
    }
    newest = Math.max(newest, ...stamps)
    if (end.kind === 'go on') continue
    await store.close()
    await putInPlace?.()
    store = await open()
    from = ask(store)
  }
  for (const station of STATIONS) await sync(station, from, () => true)
  await store.close()
  return [...phones.values()]
}
