import { expect } from 'chai'
import { type AprsIsServer, startAprsIs } from '../../../../../fixtures/aprsis/server.ts'
import type { Store } from '../../../../../sidecar/messages/store.ts'
import { MemoryNetwork } from '../../../../support/memory-network.ts'
import { LinkHarness, stationKeys } from '../../../aprsis/link-harness.ts'
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

  async function start(name: string): Promise<void> {
    const harness = new LinkHarness(stores.clock, network)
    const store = await stores.open({ instance: name })
    harness.server = server
    harness.stations = new Set(stationKeys(2700))
    harness.connect({ maxConnections: 40 }, { shared: store })
    instances.set(name, { store, harness })
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
})
