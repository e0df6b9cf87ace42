import { expect } from 'chai'
import fc from 'fast-check'
import { PUSH_LEASE_MS, type PushClaim } from '../../../../sidecar/messages/push-queue.ts'
import { PLATFORMS, type Platform, type Registration, type Store } from '../../../../sidecar/messages/store.ts'
import { propertyRuns } from '../../../support/property-runs.ts'
import { append, message, newer, registration } from '../sqlite/temporary-stores.ts'
import { POSTPONED, PushModel, WINDOW_MS } from './push-queue-model.ts'
import type { ContractStores } from './stores.ts'

/** Differences between kinds of stores. */
interface QueueOptions {
  /** Whether leases expire, so that another instance can take over. */
  readonly leasesEnd: boolean
  /** How often the property is tried. */
  readonly runs: number
}

const SETTINGS = { push: { coalesceMs: WINDOW_MS } }
const ROOM = { android: 1000, ios: 1000, webpush: 1000 }

/** A wait in {@link pushQueueContract}: longer than half a window, shorter than one. */
const WAIT_MS = 60_000

/**
 * Rules, each with steps of two stations that show it. After `claim`, the stations whose pushes the worker must get,
 * each with its number of messages.
 */
const SCENARIOS = [
  ['each station has its own window', 'store A, wait, store B, wait, claim A1, settle A, wait, claim B1'],
  [
    'a message after a settled claim opens a new window',
    'store A, wait, wait, claim A1, settle A, wait, wait, claim none, store A, wait, claim none, wait, claim A1',
  ],
  [
    'a claim includes messages after the window, so none is due later',
    'store A, wait, wait, store A, claim A2, settle A, wait, wait, claim none',
  ],
  [
    'a message during a claim becomes due at the end of its own window',
    'store A, wait, wait, claim A1, store A, settle A, wait, claim none, wait, claim A1',
  ],
  [
    'a new message does not shorten the delay of a postponed push, and joins it',
    'store A, wait, wait, claim A1, postpone A, store A, wait, claim none, wait, claim A2',
  ],
] as const
/** For stores whose claims no other instance may take over. */
const SCENARIO_OF_ONE_INSTANCE = [
  'a message during a claim is due at settlement if its window has ended',
  'store A, wait, wait, claim A1, store A, wait, wait, claim none, settle A, claim A1',
] as const

let serial = 0

/** The rules of {@link PushQueue}, the same for all stores. */
export function pushQueueContract(stores: ContractStores, { leasesEnd, runs }: QueueOptions): void {
  let store: Store
  const advance = (ms: number) => stores.shift(ms)
  /** Advances the time by 1 ms, so that the store does what is due now. */
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
  /** Claims the only due push. */
  async function claimOne(): Promise<PushClaim> {
    const [first, ...furtherClaims] = await claim()
    expect(furtherClaims).to.deep.equal([])
    if (!first) throw new Error('Nothing is due.')
    return first
  }
  const windowEnds = () => advance(WINDOW_MS)
  /** Resolves once the queue calls its listeners. */
  const due = () => new Promise<void>((resolve) => store.pushes.onDue(resolve))

  beforeEach(async () => {
    await open()
    for (const key of ['A', 'B']) await register(key)
  })

  // Shows: sidecar 2.15, 7.4, 16.5, 16.6, 17.3, 19.2, 21.10, C1.15, C9.1.
  it('a push is due one coalescing window after the first message to the station', async () => {
    await receive('A', 'one')
    await advance(WINDOW_MS - 1)
    await receive('A', 'two')
    expect(await claimed()).to.deep.equal([])
    await advance(1)
    const { station, device, unpushed, ...tried } = await claimOne()
    expect(station).to.equal('A')
    expect(device).to.include({ id: '', platform: 'android', pushToken: 'token-of-A', tokenDead: false })
    expect(unpushed.count).to.equal(2)
    expect(unpushed.newest).to.deep.include({ from: 'W1AW', to: 'A', text: Buffer.from('two') })
    expect(tried).to.deep.include({ tries: 0, refusals: 0, firstTryMs: 0, waitedMs: WINDOW_MS })
  })

  it('a claimed push contains the newest message byte for byte', async () => {
    const strange = { from: 'Ä\u{1F4E1}', seqId: '\0"\\\n', text: Buffer.from([...Array(256).keys()]) }
    await append(store, message('', { ...strange, to: 'A' }), message('', { to: 'B', seqId: '' }))
    await windowEnds()
    for (const { station, unpushed } of await claim())
      expect(unpushed).to.deep.equal({ count: 1, newest: (await newer(store, station)).messages[0] })
  })

  // Shows: sidecar C1.15, O1.9.
  for (const [rule, steps] of leasesEnd ? SCENARIOS : [...SCENARIOS, SCENARIO_OF_ONE_INSTANCE])
    it(rule, () => play(steps.split(', '), ['A', 'B']))

  it("a station's push is claimed by one worker only, until that worker settles it", async () => {
    await receive('A')
    await windowEnds()
    const rivals = await Promise.all([claim(), claim(), claim()])
    expect(rivals.flatMap(keysOf)).to.deep.equal(['A'])
    await receive('A', 'two')
    expect(await claimed()).to.deep.equal([])
  })

  // Shows: sidecar C9.21.
  it('settling a push or resetting its tries also resets the time of its first try', async () => {
    await receive('A')
    await windowEnds()
    await store.pushes.retryLater(await claimOne(), { delayMs: WINDOW_MS, tries: 5, refusals: 0 })
    await windowEnds()
    await store.pushes.retryLater(await claimOne(), { delayMs: WINDOW_MS, tries: 0, refusals: 1 })
    await windowEnds()
    const repeated = await claimOne()
    expect(repeated).to.include({ tries: 0, refusals: 1, firstTryMs: 0 })
    await store.pushes.settle(repeated)
    await receive('A')
    await windowEnds()
    expect(await claimOne()).to.include({ tries: 0, refusals: 0, firstTryMs: 0 })
  })

  it('a push with a retry delay of 0 is due again at once', async () => {
    await receive('A')
    await windowEnds()
    await store.pushes.retryLater(await claimOne(), { delayMs: 0, tries: 0, refusals: 0 })
    await soon()
    expect(await claimed()).to.deep.equal(['A'])
  })

  it('claims the longest-due pushes of each platform, one for each free send slot', async () => {
    const platforms = { C: 'ios', D: 'android', E: 'ios', F: 'webpush', G: 'android' } as const
    for (const [key, platform] of Object.entries(platforms)) await register(key, { platform })
    for (const key of ['G', 'E', 'B', 'C', 'F', 'D', 'A']) {
      await receive(key)
      await soon()
    }
    await windowEnds()
    expect(keysOf(await claim({ android: 2, ios: 1 }))).to.have.members(['G', 'B', 'E'])
    expect(keysOf(await claim({ android: 1, webpush: 5 }))).to.have.members(['D', 'F'])
    expect(keysOf(await claim({ android: 5, ios: 5, webpush: 5 }))).to.have.members(['A', 'C'])
  })

  it("a claim returns the device's current platform and push token, even a dead token", async () => {
    await receive('A')
    await receive('B')
    await store.stations.markTokenDead('B', '', 'token-of-B')
    await register('A', { platform: 'ios', pushToken: 'another token' })
    await windowEnds()
    expect(await claim({ android: 0 })).to.deep.equal([])
    const [first] = await claim({ ios: 5 })
    expect(first?.device).to.include({ platform: 'ios', pushToken: 'another token', tokenDead: false })
    const [second] = await claim({ android: 5 })
    expect(second).to.nested.include({ station: 'B', 'device.tokenDead': true })
  })

  it('a due push moves to the new platform if the station changes its platform', async () => {
    await receive('A')
    await windowEnds()
    await register('A', { platform: 'webpush' })
    const claims = [...(await claim({ android: 5 })), ...(await claim({ webpush: 5 }))]
    expect(claims.map(({ station, device }) => [station, device.platform])).to.deep.equal([['A', 'webpush']])
  })

  it("drops an unregistered station's push, whether it is waiting, due or claimed", async () => {
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

  it('the push queue calls listeners when a coalescing window ends or a retry is due', async () => {
    const first = due()
    await receive('A')
    await windowEnds()
    await first
    const held = await claimOne()
    const second = due()
    await store.pushes.retryLater(held, { delayMs: WINDOW_MS, tries: 1, refusals: 0 })
    await windowEnds()
    await second
    expect(await claimed()).to.deep.equal(['A'])
  })

  it('counts stations with waiting pushes by platform, including retries', async () => {
    await register('C', { platform: 'ios' })
    for (const key of ['A', 'B', 'C']) await receive(key)
    await windowEnds()
    const claims = await claim()
    for (const item of claims) await store.pushes.retryLater(item, { delayMs: 10 * WINDOW_MS, tries: 1, refusals: 0 })
    const isKnown = () => PLATFORMS.map(store.pushes.waiting).join() === '2,1,0'
    // A shared store may update the counts late.
    while (!isKnown()) await advance(1000)
  })

  // Shows: sidecar C9.14.
  it('after a restart, unsettled pushes are due in order, settled ones are not', async () => {
    await register('C')
    for (const key of ['B', 'C', 'A']) {
      await receive(key)
      await soon()
    }
    await windowEnds()
    for (const item of await claim()) if (item.station === 'C') await store.pushes.settle(item)
    await reopen()
    const pending = due()
    await advance(PUSH_LEASE_MS)
    await pending
    expect(await claimed()).to.deep.equal(['B', 'A'])
  })

  it('a restart does not delay a push beyond the end of its coalescing window', async () => {
    await receive('A')
    await reopen()
    await windowEnds()
    expect((await claimOne()).unpushed.count).to.equal(1)
  })

  it('a closed push queue calls no listeners, but still records outcomes of pushes', async () => {
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
    await store.pushes.retryLater(second!, { delayMs: 0, tries: 1, refusals: 0 })
    await receive(first!.station)
    await windowEnds()
    expect(calls).to.equal(0)
    await reopen()
    await windowEnds()
    const remaining = await claim()
    expect(keysOf(remaining)).to.have.members(['A', 'B'])
    expect(remaining.map(({ unpushed }) => unpushed.count)).to.deep.equal([1, 1])
  })

  if (leasesEnd)
    it("an expired claim goes to another worker; the first worker's result is ignored", async () => {
      await receive('A')
      await windowEnds()
      const lost = await claimOne()
      await advance(PUSH_LEASE_MS)
      const second = await claimOne()
      expect(second.unpushed.count).to.equal(1)
      await store.pushes.retryLater(lost, { delayMs: 0, tries: 7, refusals: 0 })
      expect(await claimed()).to.deep.equal([])
      await store.pushes.settle(second)
      await windowEnds()
      expect(await claimed()).to.deep.equal([])
    })

  it('each message is claimed after its coalescing window, and never by two workers', async () => {
    const step = fc.constantFrom(
      'wait',
      'claim',
      ...['store', 'settle', 'postpone'].flatMap((action) => NAMES.map((name) => `${action} ${name}`)),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        expect(await play([...steps, ...END], NAMES)).to.equal(0)
      }),
      { numRuns: propertyRuns(runs) },
    )
  })

  /**
   * Runs steps with new devices, and compares each claim with a {@link PushModel} of each device. Returns the number of
   * messages that no push has announced.
   */
  async function play(steps: readonly string[], names: readonly string[]): Promise<number> {
    const suffix = `-${++serial}`
    const deviceOf = (name: string) => ({ key: `${name[0]}${suffix}`, deviceId: name.slice(1) })
    for (const name of names) await register(deviceOf(name).key, { ...deviceOf(name), pushToken: name })
    const models = new Map(names.map((name) => [name, new PushModel()]))
    for (const step of steps) {
      const now = stores.now()
      const [action, name = ''] = step.split(' ')
      const model = models.get(name)
      if (action === 'wait') {
        await advance(WAIT_MS)
        if (leasesEnd) for (const device of models.values()) device.leaseEnded()
      } else if (action === 'store') {
        await receive(deviceOf(name).key)
        for (const [deviceName, device] of models) if (deviceName[0] === name[0]) device.stored(now)
      } else if (action === 'claim') {
        const claims = await claim()
        const claimedCounts = claims.map(({ station, unpushed }) => `${station[0]}${unpushed.count}`)
        if (name) expect(claimedCounts.join() || 'none').to.equal(name)
        for (const [deviceName, device] of models) {
          const { key, deviceId } = deviceOf(deviceName)
          device.claimed(
            now,
            claims.find((item) => item.station === key && item.device.id === deviceId),
          )
        }
      } else if (model?.claim) {
        if (action === 'settle') {
          await store.pushes.settle(model.claim)
          model.settled(now)
        } else {
          await store.pushes.retryLater(model.claim, POSTPONED)
          model.postponed(now)
        }
        await soon()
      }
    }
    for (const name of names) await store.stations.remove(deviceOf(name).key)
    return [...models.values()].reduce((remaining, { unpushed }) => remaining + unpushed, 0)
  }
}

/** Devices: one letter for the station, then the device id. */
const NAMES = ['A', 'Atablet', 'B']

/** Steps at the end of each run of the property, after which every message must have been announced. */
const END = NAMES.flatMap((name) => {
  const expectedSteps = ['wait', 'wait', 'claim', `settle ${name}`]
  return [`settle ${name}`, ...expectedSteps, ...expectedSteps]
})
