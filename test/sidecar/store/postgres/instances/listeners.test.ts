import { expect } from 'chai'
import { type AprsIsServer, startAprsIs } from '../../../../../fixtures/aprsis/server.ts'
import type { LinkOptions } from '../../../../../sidecar/aprsis/link.ts'
import type { AprsisSettings } from '../../../../../sidecar/config/settings.ts'
import { createAckSender } from '../../../../../sidecar/messages/ack-sender.ts'
import { createReceiver } from '../../../../../sidecar/messages/receiver.ts'
import type { Store } from '../../../../../sidecar/messages/store.ts'
import { MemoryNetwork } from '../../../../support/memory-network.ts'
import { CALL, LinkHarness, stationKeys } from '../../../aprsis/link-harness.ts'
import { registration } from '../../sqlite/temporary-stores.ts'
import { postgresStores } from '../postgres-stores.ts'

describe('Instances that listen to APRS-IS by leases in PostgreSQL', () => {
  const stores = postgresStores()
  const instances = new Map<string, { readonly store: Store; readonly harness: LinkHarness }>()
  let network: MemoryNetwork
  let server: AprsIsServer

  beforeEach(async () => {
    network = new MemoryNetwork()
    server = await startAprsIs({ clock: stores.clock, listen: network.listen })
  })
  afterEach(async () => {
    for (const { harness } of instances.values()) await harness.close()
    instances.clear()
    await server.close()
  })

  async function start(
    name: string,
    settings: Partial<AprsisSettings> = {},
    overrides: (store: Store, harness: LinkHarness) => Partial<LinkOptions> = () => ({}),
  ): Promise<LinkHarness> {
    const harness = new LinkHarness(stores.clock, network)
    const store = await stores.open({ instance: name })
    harness.server = server
    harness.stations = new Set(stationKeys(2700))
    harness.connect({ maxConnections: 40, ...settings }, { shared: store, ...overrides(store, harness) })
    instances.set(name, { store, harness })
    return harness
  }

  /** Stores what arrives, and acknowledges it where the store says so. */
  function receiving(store: Store, harness: LinkHarness): Partial<LinkOptions> {
    const { metrics } = harness
    const receive = createReceiver({
      stations: store.stations,
      history: store.history,
      isBlocked: () => false,
      acks: createAckSender({
        send: (line) => harness.link.send(line),
        canSend: () => harness.link.verified(),
        metrics,
      }),
      metrics,
      log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    })
    return { stations: () => store.stations.keys(), onLines: receive }
  }

  const harnesses = () => [...instances.values()].map(({ harness }) => harness)
  const listening = () => harnesses().filter(({ link }) => link.status().listener !== null)
  const areReady = (count: number) => () => listening().filter(({ link }) => link.ready()).length === count

  /** Lets time pass by steps in which the database is asked and answers, until `holds`; resolves with how many milliseconds went by. */
  async function passUntil(holds: () => boolean, mostMs: number): Promise<number> {
    let passed = 0
    for (; !holds() && passed < mostMs; passed += 100) {
      await stores.clock.advance(100)
      for (const { store } of instances.values()) await store.leases.list()
    }
    return passed
  }

  it('are two again within 8 s of a death, with many connections each and never two logins with one call', async () => {
    for (const name of ['a', 'b', 'c']) await start(name)
    await passUntil(areReady(2), 20_000)
    expect(server.clients()).to.have.length(8)
    for (const next of ['d', 'e']) {
      const [victim] = [...instances].find(([, { harness }]) => harness.link.status().listener !== null) ?? ['']
      const { store, harness } = instances.get(victim) ?? expect.fail()
      instances.delete(victim)
      // As it is when its process is killed: nothing is given back.
      store.leases.release = () => Promise.reject(new Error('It is dead.'))
      await harness.link.close()
      expect(await passUntil(() => listening().length === 2, 20_000)).to.be.at.most(8000)
      await passUntil(areReady(2), 20_000)
      await start(next)
    }
    for (const one of listening()) await one.reaches(stationKeys(2700))
    expect(server.traffic.replaced).to.equal(0)
    expect(harnesses().flatMap((one) => one.events('upstream-no-call'))).to.deep.equal([])
  }).timeout(60_000)

  it('acknowledge each numbered message once by the login that is verified, whichever of them stored it', async () => {
    const unverified = await start('a', { passcode: -1 }, receiving)
    await passUntil(() => unverified.link.ready(), 20_000)
    const verified = await start('b', {}, receiving)
    await passUntil(areReady(2), 20_000)
    const { store } = instances.get('a') ?? expect.fail()
    await store.stations.register(registration('N0ONE-7', { ackMessages: true }))
    for (const { harness } of instances.values()) harness.link.refilter()
    const asked = () => server.clients().filter(({ filter }) => filter.includes('N0ONE-7')).length === 2
    await passUntil(asked, 20_000)
    expect(server.clients().map(({ call, verified }) => [call, verified])).to.deep.include([CALL, false])
    const numbers = Array.from({ length: 9 }, (_, index) => String(index + 1))
    for (const number of numbers) server.inject(`AA1AA>APRS,TCPIP*,qAC,T2ELSE::N0ONE-7  :message ${number}{${number}`)
    const stored = () => unverified.metrics.value('messages_stored') + verified.metrics.value('messages_stored')
    const seen = () =>
      stored() + unverified.metrics.value('messages_duplicate') + verified.metrics.value('messages_duplicate')
    await passUntil(() => seen() === 18 && server.received.length >= numbers.length, 5000)
    expect(stored()).to.equal(numbers.length)
    expect(server.received.map(({ line }) => line.split(':').at(-1)).toSorted()).to.deep.equal(
      numbers.map((number) => `ack${number}`),
    )
    expect(new Set(server.received.map(({ login, outcome }) => `${login} ${outcome}`))).to.deep.equal(
      new Set(['N0CALL-99 passed']),
    )
  }).timeout(60_000)
})
