import { expect } from 'chai'
import fc from 'fast-check'
import { PUSH_LEASE_MS, type PushClaim } from '../../../../sidecar/messages/push-queue.ts'
import { PLATFORMS, type Platform, type Registration, type Store } from '../../../../sidecar/messages/store.ts'
import { propertyRuns } from '../../../support/property-runs.ts'
import { append, message, newer, registration } from '../sqlite/temporary-stores.ts'
import type { ContractStores } from './stores.ts'

/** What a kind of store does in its own way. */
interface QueueOptions {
  /** Whether a lease ends by itself, since somebody else may take over. */
  readonly leasesEnd: boolean
  /** How often the property is tried. */
  readonly runs: number
}

// Far apart, since for a store with a clock of its own more time passes than the test says.
const WINDOW_MS = 100_000
const MARGIN_MS = 30_000
const SETTINGS = { push: { coalesceMs: WINDOW_MS } }
const ROOM = { android: 1000, ios: 1000, webpush: 1000 }

let serial = 0

/** The rules of {@link PushQueue}, the same for all stores. */
export function pushQueueContract(stores: ContractStores, { leasesEnd, runs }: QueueOptions): void {
  let store: Store
  /** Lets so much time pass for the store, at least. */
  const advance = (ms: number) => stores.shift(ms)
  /** Lets happen what is due by now. */
  const soon = () => advance(1)

  const open = async () => {
    store = await stores.open(SETTINGS)
  }
  const reopen = async () => {
    await store.close()
    await open()
  }
  const register = async (key: string, changes: Partial<Registration> = {}) => {
    await store.stations.register(registration(key, changes))
  }
  async function receive(to: string, text = 'Hello'): Promise<void> {
    serial += 1
    await append(store, message(text, { to, seqId: String(serial) }))
  }
  const claim = (room: Partial<Record<Platform, number>> = ROOM) =>
    store.pushes.claim({ android: 0, ios: 0, webpush: 0, ...room })
  const keysOf = (claims: readonly PushClaim[]) => claims.map(({ station }) => station)
  const claimed = async () => keysOf(await claim())
  /** The only one. */
  async function claimOne(): Promise<PushClaim> {
    const [one, ...others] = await claim()
    expect(others).to.deep.equal([])
    if (!one) throw new Error('Nothing is due.')
    return one
  }
  const windowEnds = () => advance(WINDOW_MS + MARGIN_MS)

  beforeEach(async () => {
    await open()
    for (const key of ['A', 'B']) await register(key)
  })

  it('has a station due once the window of its first message ends, which later ones do not prolong', async () => {
    await receive('A', 'one')
    await advance(WINDOW_MS - MARGIN_MS)
    await receive('A', 'two')
    expect(await claimed()).to.deep.equal([])
    await advance(2 * MARGIN_MS)
    const { station, device, unpushed, ...tried } = await claimOne()
    expect(station).to.equal('A')
    expect(device).to.include({ id: '', platform: 'android', pushToken: 'token-of-A', tokenDead: false })
    expect(unpushed.count).to.equal(2)
    expect(unpushed.newest).to.deep.include({ from: 'W1AW', to: 'A', text: Buffer.from('two') })
    expect(tried).to.include({ tries: 0, refusals: 0, firstTryMs: 0 })
    expect(tried.waitedMs).to.be.within(WINDOW_MS + MARGIN_MS, 2 * WINDOW_MS)
  })

  it('brings the newest message to the byte', async () => {
    const strange = { from: 'Ä\u{1F4E1}', seqId: '\0"\\\n', text: Buffer.from([...Array(256).keys()]) }
    await append(store, message('', { ...strange, to: 'A' }), message('', { to: 'B', seqId: '' }))
    await windowEnds()
    for (const { station, unpushed } of await claim())
      expect(unpushed).to.deep.equal({ count: 1, newest: (await newer(store, station)).messages[0] })
  })

  it('gives each station its own window', async () => {
    await receive('A')
    await advance(2 * MARGIN_MS)
    await receive('B')
    await advance(2 * MARGIN_MS)
    const first = await claimOne()
    expect(first.station).to.equal('A')
    await store.pushes.settle(first)
    await advance(2 * MARGIN_MS)
    expect(await claimed()).to.deep.equal(['B'])
  })

  it('opens a new window for what comes after it is settled', async () => {
    await receive('A')
    await windowEnds()
    await store.pushes.settle(await claimOne())
    await windowEnds()
    expect(await claimed()).to.deep.equal([])
    await receive('A', 'two')
    await advance(WINDOW_MS - MARGIN_MS)
    expect(await claimed()).to.deep.equal([])
    await advance(2 * MARGIN_MS)
    expect((await claimOne()).unpushed).to.deep.include({ count: 1 })
  })

  it('gives a station to nobody else until it is settled', async () => {
    await receive('A')
    await windowEnds()
    const rivals = await Promise.all([claim(), claim(), claim()])
    expect(rivals.flatMap(keysOf)).to.deep.equal(['A'])
    await receive('A', 'two')
    expect(await claimed()).to.deep.equal([])
  })

  it('takes with a claim what came after the window, and has nothing due then', async () => {
    await receive('A', 'one')
    await windowEnds()
    await receive('A', 'two')
    const claim = await claimOne()
    expect(claim.unpushed.count).to.equal(2)
    await store.pushes.settle(claim)
    await windowEnds()
    expect(await claimed()).to.deep.equal([])
  })

  it('has a station due again when the window of what came meanwhile ends, where it is settled sooner', async () => {
    await receive('A', 'one')
    await windowEnds()
    const first = await claimOne()
    await receive('A', 'two')
    await store.pushes.settle(first)
    await advance(WINDOW_MS - MARGIN_MS)
    expect(await claimed()).to.deep.equal([])
    await advance(2 * MARGIN_MS)
    const { unpushed, tries } = await claimOne()
    expect([unpushed.count, unpushed.newest.text.toString(), tries]).to.deep.equal([1, 'two', 0])
  })

  if (!leasesEnd)
    it('has a station due again as soon as it is settled, where the window of what came meanwhile ended before', async () => {
      await receive('A', 'one')
      await windowEnds()
      const first = await claimOne()
      await receive('A', 'two')
      await windowEnds()
      expect(await claimed()).to.deep.equal([])
      await store.pushes.settle(first)
      await soon()
      const { unpushed, waitedMs } = await claimOne()
      expect([unpushed.count, unpushed.newest.text.toString()]).to.deep.equal([1, 'two'])
      expect(waitedMs).to.be.within(WINDOW_MS + MARGIN_MS, 2 * WINDOW_MS)
    })

  it('puts a station off for as long as it is told, which no message shortens, and tells it of all that came', async () => {
    await receive('A', 'one')
    await windowEnds()
    await store.pushes.later(await claimOne(), { delayMs: 3 * WINDOW_MS, tries: 1, refusals: 2 })
    await receive('A', 'two')
    await advance(3 * WINDOW_MS - MARGIN_MS)
    expect(await claimed()).to.deep.equal([])
    await advance(2 * MARGIN_MS)
    const again = await claimOne()
    expect(again).to.include({ tries: 1, refusals: 2 })
    expect(again.unpushed.count).to.equal(2)
    expect(again.firstTryMs).to.be.within(3 * WINDOW_MS + MARGIN_MS, 4 * WINDOW_MS)
    expect(again.waitedMs).to.be.within(4 * WINDOW_MS + 2 * MARGIN_MS, 6 * WINDOW_MS)
  })

  it('begins another notification where no try counts any more, and for what comes after it is settled', async () => {
    await receive('A')
    await windowEnds()
    await store.pushes.later(await claimOne(), { delayMs: WINDOW_MS, tries: 5, refusals: 0 })
    await windowEnds()
    await store.pushes.later(await claimOne(), { delayMs: WINDOW_MS, tries: 0, refusals: 1 })
    await windowEnds()
    const again = await claimOne()
    expect(again).to.include({ tries: 0, refusals: 1, firstTryMs: 0 })
    await store.pushes.settle(again)
    await receive('A')
    await windowEnds()
    expect(await claimOne()).to.include({ tries: 0, refusals: 0, firstTryMs: 0 })
  })

  it('puts off for no time: then it is due at once', async () => {
    await receive('A')
    await windowEnds()
    await store.pushes.later(await claimOne(), { delayMs: 0, tries: 0, refusals: 0 })
    await soon()
    expect(await claimed()).to.deep.equal(['A'])
  })

  it('gives those first that are due the longest, and of each platform as many as there is room for', async () => {
    const platforms = { C: 'ios', D: 'android', E: 'ios', F: 'webpush', G: 'android' } as const
    for (const [key, platform] of Object.entries(platforms)) await register(key, { platform })
    for (const key of ['G', 'E', 'B', 'C', 'F', 'D', 'A']) {
      await receive(key)
      await advance(MARGIN_MS)
    }
    await windowEnds()
    expect(keysOf(await claim({ android: 2, ios: 1 }))).to.have.members(['G', 'B', 'E'])
    expect(keysOf(await claim({ android: 1, webpush: 5 }))).to.have.members(['D', 'F'])
    expect(keysOf(await claim({ android: 5, ios: 5, webpush: 5 }))).to.have.members(['A', 'C'])
  })

  it('brings platform and token as they are at the claim, a dead one too', async () => {
    await receive('A')
    await receive('B')
    await store.stations.markTokenDead('B', '', 'token-of-B')
    await register('A', { platform: 'ios', pushToken: 'another token' })
    await windowEnds()
    expect(await claim({ android: 0 })).to.deep.equal([])
    const [first] = await claim({ ios: 5 })
    expect(first?.device).to.include({ platform: 'ios', pushToken: 'another token', tokenDead: false })
    const [second] = await claim({ android: 5 })
    expect([second?.station, second?.device.tokenDead]).to.deep.equal(['B', true])
  })

  it('follows a station to another platform that it registers for while it is due', async () => {
    await receive('A')
    await windowEnds()
    await register('A', { platform: 'webpush' })
    const claims = [...(await claim({ android: 5 })), ...(await claim({ webpush: 5 }))]
    expect(claims.map(({ station, device }) => [station, device.platform])).to.deep.equal([['A', 'webpush']])
  })

  it('forgets a station that is unregistered, whether it waits, is due or is claimed', async () => {
    await receive('A')
    await windowEnds()
    const held = await claimOne()
    await receive('B')
    await windowEnds()
    await register('C')
    await receive('C')
    for (const key of ['A', 'B', 'C']) await store.stations.remove(key)
    await store.pushes.settle(held)
    await windowEnds()
    for (const key of ['A', 'B', 'C']) await register(key)
    expect(await claimed()).to.deep.equal([])
    await receive('A', 'new')
    await windowEnds()
    expect((await claimOne()).unpushed.count).to.equal(1)
  })

  it('calls its listeners when a window ends, and when what was put off is due', async () => {
    const due = () =>
      new Promise<void>((resolve) => {
        store.pushes.onDue(resolve)
      })
    const first = due()
    await receive('A')
    await windowEnds()
    await first
    const held = await claimOne()
    const second = due()
    await store.pushes.later(held, { delayMs: WINDOW_MS, tries: 1, refusals: 0 })
    await windowEnds()
    await second
    expect(await claimed()).to.deep.equal(['A'])
  })

  it('says how many stations of a platform have an entry, which those have too that wait for another try', async () => {
    await register('C', { platform: 'ios' })
    for (const key of ['A', 'B', 'C']) await receive(key)
    await windowEnds()
    const claims = await claim()
    for (const one of claims) await store.pushes.later(one, { delayMs: 10 * WINDOW_MS, tries: 1, refusals: 0 })
    const isKnown = () => PLATFORMS.map(store.pushes.waiting).join() === '2,1,0'
    // Of a store that others use too it may be known late.
    while (!isKnown()) await advance(1000)
  })

  it('has due at once, in the order of their messages, what a stop left, and nothing that was settled', async () => {
    await register('C')
    for (const key of ['B', 'C', 'A']) {
      await receive(key)
      await advance(MARGIN_MS)
    }
    await windowEnds()
    for (const one of await claim()) if (one.station === 'C') await store.pushes.settle(one)
    await reopen()
    const told = new Promise<void>((resolve) => {
      store.pushes.onDue(resolve)
    })
    await advance(PUSH_LEASE_MS + MARGIN_MS)
    await told
    expect(await claimed()).to.deep.equal(['B', 'A'])
  })

  it('has due after a stop what was in its window, once that ends at the latest', async () => {
    await receive('A')
    await reopen()
    await windowEnds()
    expect((await claimOne()).unpushed.count).to.equal(1)
  })

  it('calls nobody once it is closed, and still takes what becomes of a claim', async () => {
    await receive('A')
    await receive('B')
    await windowEnds()
    const [first, second] = await claim()
    let calls = 0
    store.pushes.onDue(() => calls++)
    calls = 0
    store.pushes.close()
    store.pushes.close()
    await store.pushes.settle(first!)
    await store.pushes.later(second!, { delayMs: 0, tries: 1, refusals: 0 })
    await receive(first!.station)
    await windowEnds()
    expect(calls).to.equal(0)
    await reopen()
    await windowEnds()
    const left = await claim()
    expect(keysOf(left)).to.have.members(['A', 'B'])
    expect(left.map(({ unpushed }) => unpushed.count)).to.deep.equal([1, 1])
  })

  if (leasesEnd)
    it('gives a station to another claim when the lease is over, and takes no settlement of the one before', async () => {
      await receive('A')
      await windowEnds()
      const lost = await claimOne()
      await advance(PUSH_LEASE_MS + MARGIN_MS)
      const second = await claimOne()
      expect(second.unpushed.count).to.equal(1)
      await store.pushes.later(lost, { delayMs: 0, tries: 7, refusals: 0 })
      expect(await claimed()).to.deep.equal([])
      await store.pushes.settle(second)
      await windowEnds()
      expect(await claimed()).to.deep.equal([])
    })

  it('gives each message to a claim after it, never before its window, nor to two at once', async () => {
    // In steps that leave windows and delays far from their ends.
    const STEP_MS = 60_000
    const DELAY_MS = 90_000
    const step = fc.record({
      does: fc.constantFrom('store', 'claim', 'settle', 'later'),
      name: fc.constantFrom(...NAMES),
      steps: fc.nat(2),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        serial += 1
        const run = String(serial)
        const of = (name: string) => ({ key: `${name[0]}${run}`, deviceId: name.slice(1) })
        for (const name of NAMES) await register(of(name).key, { ...of(name), pushToken: name })
        const models = new Map(NAMES.map((name) => [name, createModel()]))
        let now = 0
        for (const { does, name, steps: count } of [...steps, ...END]) {
          const model = models.get(name) as Model
          now += count * STEP_MS
          await advance(count * STEP_MS)
          if (leasesEnd && count > 0) for (const each of models.values()) each.loseLease()
          if (does === 'store') {
            await receive(of(name).key)
            for (const [other, each] of models) if (other[0] === name[0]) each.stored(now)
          } else if (does === 'claim') {
            const claims = await claim()
            for (const [other, each] of models) {
              const { key, deviceId } = of(other)
              each.claimed(
                now,
                claims.find(({ station, device: { id } }) => station === key && id === deviceId),
              )
            }
          } else if (model.held) {
            if (does === 'settle') await store.pushes.settle(model.held)
            else await store.pushes.later(model.held, { delayMs: DELAY_MS, tries: 1, refusals: 0 })
            model.over(now, does === 'settle' ? undefined : DELAY_MS)
            await soon()
          }
        }
        for (const each of models.values()) expect(each.unpushed).to.equal(0)
        for (const name of NAMES) await store.stations.remove(of(name).key)
      }),
      { numRuns: propertyRuns(runs) },
    )
  })
}

/** Devices, by one letter for the station and their id. */
const NAMES = ['A', 'Atablet', 'B']

/** Lets each property end with everything told. */
const END = NAMES.flatMap((name) => [
  { does: 'settle', name, steps: 0 },
  { does: 'claim', name, steps: 2 },
  { does: 'settle', name, steps: 0 },
  { does: 'claim', name, steps: 2 },
  { does: 'settle', name, steps: 0 },
])

interface Model {
  readonly unpushed: number
  readonly held: PushClaim | undefined
  stored(now: number): void
  claimed(now: number, claim: PushClaim | undefined): void
  /** Settled, or put off. */
  over(now: number, delayMs: number | undefined): void
  loseLease(): void
}

/** What the queue is to know of one device. */
function createModel(): Model {
  let unpushed = 0
  let dueAt: number | undefined
  let againAt: number | undefined
  let since = 0
  let held: PushClaim | undefined
  return {
    get unpushed() {
      return unpushed
    },
    get held() {
      return held
    },
    stored(now) {
      unpushed += 1
      if (held) {
        since += 1
        againAt ??= now
      } else dueAt ??= now + WINDOW_MS
    },
    claimed(now, claim) {
      if (held || dueAt === undefined || dueAt > now) {
        expect(claim).to.equal(undefined)
        return
      }
      expect(claim?.unpushed.count).to.equal(unpushed)
      held = claim
      since = 0
      againAt = undefined
    },
    over(now, delayMs) {
      held = undefined
      if (delayMs !== undefined) dueAt = now + delayMs
      else {
        unpushed = since
        dueAt = againAt === undefined ? undefined : Math.max(now, againAt + WINDOW_MS)
      }
    },
    loseLease() {
      if (held) dueAt = 0
      held = undefined
    },
  }
}
