import type { Duplex } from 'node:stream'
import { expect } from 'chai'
import { type AprsIsServer, startAprsIs } from '../../../../fixtures/aprsis/server.ts'
import type { Connect } from '../../../../sidecar/aprsis/connection/connect-tcp.ts'
import type { LinkParts } from '../../../../sidecar/aprsis/link.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { MemoryNetwork } from '../../../support/memory-network.ts'
import { CALL, LinkHarness, stationKeys } from '../link-harness.ts'
import { SharedLeases } from './shared-leases.ts'

describe('Several instances at APRS-IS', () => {
  let clock: FakeClock
  let network: MemoryNetwork
  let server: AprsIsServer
  let leases: SharedLeases
  let instances: Map<string, LinkHarness>
  let stations: string[]

  beforeEach(async () => {
    clock = new FakeClock()
    network = new MemoryNetwork()
    server = await startAprsIs({ clock, listen: network.listen })
    leases = new SharedLeases(clock)
    instances = new Map()
    stations = ['AA1AA', 'BB1BB-1']
  })
  afterEach(async () => {
    for (const item of instances.values()) await item.close()
    await server.close()
  })

  function start(name: string, ...[settings, overrides]: Parameters<LinkHarness['connect']>): LinkHarness {
    const first = new LinkHarness(clock, network)
    first.server = server
    first.stations = new Set(stations)
    first.connect(settings, { shared: leases.of(name), ...overrides })
    instances.set(name, first)
    return first
  }

  async function ready(...one: Parameters<typeof start>): Promise<LinkHarness> {
    const started = start(...one)
    await started.ready()
    return started
  }

  /** Starts two instances that listen, and one that stands by. */
  async function startThree(): Promise<readonly LinkHarness[]> {
    const first = await ready('a')
    await clock.advance(1000)
    // The second instance looks for another server than the first one's. There is none, so it logs in four times.
    const second = await ready('b')
    const third = start('c')
    await clock.advance(1000)
    return [first, second, third]
  }

  /** Ends an instance without notifying the store. */
  async function kill(name: string): Promise<void> {
    leases.unreachableBy.add(name)
    await instances.get(name)?.link.close()
    instances.delete(name)
  }

  const slotOf = (item: LinkHarness | undefined) => item?.link.status().listener
  const listening = () => [...instances.values()].filter((item) => slotOf(item) !== null)
  const callsOf = (item: LinkHarness | undefined) => item?.link.status().connections.map(({ callsign }) => callsign)

  describe('The election of instances that listen at APRS-IS', () => {
    it('aprsis.listeners sets how many instances listen; only one uses aprsis.callsign', async () => {
      const [a, b, c] = await startThree()
      expect([a, b, c].map(slotOf)).to.deep.equal([0, 1, null])
      expect([a, b, c].map(callsOf)).to.deep.equal([[CALL], ['N0CALL-99'], []])
      await a?.reaches(stations)
      await b?.reaches(stations)
      expect(c?.lines).to.deep.equal([])
      expect(server.traffic).to.include({ logins: 1 + 4, replaced: 0 })
    })

    it('instances that start at the same moment elect exactly two listeners', async () => {
      const all = ['a', 'b', 'c', 'd'].map((name) => start(name))
      await clock.advance(3000)
      expect(all.map(slotOf).toSorted()).to.deep.equal([0, 1, null, null])
      for (const item of all.filter((each) => slotOf(each) !== null)) await item.ready()
      expect(server.traffic.replaced).to.equal(0)
    })

    it('each instance knows all listeners, with their servers and callsigns', async () => {
      const [a, , c] = await startThree()
      await clock.advance(2000)
      expect(c?.link.status().listeners).to.deep.equal({ held: 2, wanted: 2 })
      expect(c?.link.status().others).to.deep.equal([
        { slot: 0, instance: 'a', mine: false, servers: ['T2FIX'], callsigns: [CALL] },
        { slot: 1, instance: 'b', mine: false, servers: ['T2FIX'], callsigns: ['N0CALL-99'] },
      ])
      expect(a?.link.status().others.map(({ instance }) => instance)).to.deep.equal(['b'])
    })

    it('an instance with aprsis.listen false never listens, even without other listeners', async () => {
      const deaf = start('deaf', { listen: false })
      const second = await ready('other')
      await clock.advance(2000)
      expect(slotOf(deaf)).to.equal(null)
      expect(deaf.link.status()).to.deep.include({ listeners: { held: 1, wanted: 1 }, connections: [] })
      await second.link.close()
      await clock.advance(10_000)
      expect(deaf.link.status()).to.deep.include({ listener: null, listeners: { held: 0, wanted: 1 } })
    })

    it('only one instance listens if the callsign permits only one login', async () => {
      const [a, b] = ['a', 'b'].map((name) => start(name, { callsign: 'N0CALLS', passcode: -1 }))
      await clock.advance(10_000)
      expect([a, b].map(slotOf)).to.deep.equal([0, null])
      expect(b?.link.status().listeners).to.deep.equal({ held: 1, wanted: 1 })
    })
  })

  describe('The replacement of a listener', () => {
    it('a standby instance replaces a dead listener within 7 s, and no message is missed', async () => {
      const [, b, c] = await startThree()
      await kill('a')
      const texts = b?.send(stations) ?? []
      await clock.advance(7000)
      expect(slotOf(c)).to.equal(0)
      await c?.ready()
      expect(callsOf(c)).to.deep.equal([CALL])
      await c?.reaches(stations)
      await b?.reaches(stations)
      expect(texts.filter((text) => !b?.has(text))).to.deep.equal([])
      expect(server.traffic.replaced).to.equal(0)
    })

    it('a standby instance replaces a closed listener within a second', async () => {
      const [a, , c] = await startThree()
      await a?.link.close()
      await clock.advance(1000)
      expect(slotOf(c)).to.equal(0)
      await c?.ready()
      expect(leases.holders()).to.deep.include({ 'listener/0': 'c', [`call/${CALL}`]: 'c' })
    })
  })

  describe('A listener that cannot reach APRS-IS', () => {
    let lost: boolean
    let way: Duplex

    beforeEach(() => {
      lost = false
    })

    const connect: Connect = (to) => {
      way = network.connect({ ...to, port: lost ? -1 : to.port })
      return way
    }

    async function loseTheWay(first: LinkHarness): Promise<void> {
      lost = true
      way.destroy()
      await first.until(() => !first.link.status().connected)
    }

    it('a listener offline for 30 s is replaced and waits until another listener fails', async () => {
      const a = await ready('a', {}, { connect })
      const b = await ready('b')
      const c = start('c')
      await clock.advance(1000)
      await loseTheWay(a)
      await clock.advance(29_000)
      expect([a, b, c].map(slotOf)).to.deep.equal([0, 1, null])
      await clock.advance(4000)
      expect([a, b, c].map(slotOf)).to.deep.equal([null, 1, 0])
      await c.ready()
      expect(c.link.status().listeners).to.deep.equal({ held: 2, wanted: 2 })
      await kill('b')
      const d = start('d')
      await clock.advance(9000)
      expect([a, c, d].map(slotOf)).to.deep.equal([null, 0, 1])
      await kill('d')
      await clock.advance(14_000)
      expect([a, c].map(slotOf)).to.deep.equal([1, 0])
      await clock.advance(60_000)
      expect(a.events('listener-gave-way')).to.have.length(1)
    })
  })

  describe('The listeners while the store is unreachable', () => {
    it('listeners stay logged in even if a standby regains access to the store first', async () => {
      const [a, b, c] = await startThree()
      const logins = server.traffic.logins
      for (const name of ['a', 'b', 'c']) leases.unreachableBy.add(name)
      await clock.advance(19_000)
      await a?.reaches(stations)
      await b?.reaches(stations)
      leases.unreachableBy.delete('c')
      await clock.advance(4000)
      leases.unreachableBy.clear()
      await clock.advance(10_000)
      expect([a, b, c].map(slotOf)).to.deep.equal([0, 1, null])
      expect(server.traffic).to.include({ logins, replaced: 0 })
      expect(a?.events('leases-not-renewed')).to.have.length(1)
      expect(a?.events('leases-renewed')).to.have.length(1)
    })

    it('listeners with possibly expired leases log in again only once the store answers', async () => {
      const [a, b] = await startThree()
      for (const name of ['a', 'b', 'c']) leases.unreachableBy.add(name)
      await clock.advance(5000)
      server.dropAll()
      for (const item of [a, b]) await item?.until(() => !item.link.status().connected)
      const { logins } = server.traffic
      await clock.advance(10_000)
      expect(server.traffic.logins).to.equal(logins)
      leases.unreachableBy.clear()
      await clock.advance(3000)
      await a?.ready()
      await b?.ready()
      expect(server.traffic.replaced).to.equal(0)
    })

    it('an instance suspended past its lease expiry logs in only once the store answers', async () => {
      const a = await ready('a')
      const { logins } = server.traffic
      leases.unreachableBy.add('a')
      clock.set(clock.now() + 10_000)
      server.dropAll()
      await a.until(() => !a.link.status().connected)
      await clock.advance(2000)
      expect(server.traffic.connections).to.equal(logins)
      leases.unreachableBy.clear()
      await clock.advance(2000)
      await a.ready()
    })

    it('a listener cut off from the store stops if another logs in with its callsign', async () => {
      const [a, , c] = await startThree()
      leases.unreachableBy.add('a')
      await clock.advance(8000)
      await c?.ready()
      await a?.until(() => a.link.status().connected === false)
      await clock.advance(20_000)
      expect(server.traffic.replaced).to.equal(1)
      leases.unreachableBy.delete('a')
      await clock.advance(2000)
      expect([a, c].map(slotOf)).to.deep.equal([null, 0])
      expect(a?.events('listener-deposed')).to.have.length(1)
      expect(c?.metrics.value('upstream_disconnects')).to.equal(0)
    })
  })

  describe('Listeners with many connections', () => {
    it('no two logins share a callsign while stations register and instances die', async () => {
      stations = stationKeys(2700)
      const [a, b, c] = ['a', 'b', 'c'].map((name) => start(name, { maxConnections: 40 }))
      await clock.advance(2000)
      await a?.ready()
      await b?.ready()
      expect(new Set([...(callsOf(a) ?? []), ...(callsOf(b) ?? [])]).size).to.equal(8)
      for (const [count, victim] of [
        [4500, 'a'],
        [900, 'b'],
      ] as const) {
        stations = stationKeys(count)
        for (const item of instances.values()) await item.change(stations)
        await kill(victim)
        await clock.advance(1000)
        start(`${victim}-again`, { maxConnections: 40 })
        await clock.advance(9000)
        for (const entry of listening()) await entry.ready()
      }
      expect(listening()).to.have.length(2)
      for (const element of listening()) await element.reaches(stations)
      expect(server.traffic.replaced).to.equal(0)
      for (const instance of [a, b, c]) expect(instance?.events('upstream-no-call')).to.deep.equal([])
    }).timeout(60_000)

    it('a listener releases the callsigns of connections that ended', async () => {
      stations = stationKeys(900)
      const a = await ready('a')
      await a.change(stationKeys(30))
      await clock.advance(12_000)
      await a.until(() => server.clients().length === 1)
      await clock.advance(3000)
      expect(Object.keys(leases.holders()).filter((name) => name.startsWith('call/'))).to.have.length(1)
    })

    it('after a store outage, a listener replaces only callsigns that another one took', async () => {
      stations = stationKeys(900)
      const a = await ready('a')
      const b = await ready('b')
      expect(callsOf(a)).to.deep.equal([CALL, 'N0CALL-99'])
      leases.unreachableBy.add('a')
      await clock.advance(8000)
      await b.change(stationKeys(1900))
      await b.ready()
      expect(callsOf(b)).to.include('N0CALL-99').and.not.include(CALL)
      leases.unreachableBy.clear()
      await clock.advance(2000)
      expect(slotOf(a)).to.equal(0)
      await a.ready()
      expect(callsOf(a)).to.include(CALL).and.not.include('N0CALL-99')
      expect(b.metrics.value('upstream_disconnects')).to.equal(0)
      await a.reaches(stations)
    })

    it('one of four listeners logs an error once its quarter of the callsigns is used up', async () => {
      stations = stationKeys(9200)
      const a = start('a', { listeners: 4, maxConnections: 99, trackOutgoing: true })
      await a.until(() => a.link.status().leftOut > 0 && a.link.ready())
      expect(a.link.status().connections).to.have.length(20)
      expect(a.link.problems()).to.deep.equal(['upstream_no_call'])
      expect(a.events('upstream-full').map(({ level, msg }) => `${level}: ${msg}`)[0]).to.match(
        /^error: .*4 listeners share the 84 logins.*its own database/,
      )
    })
  })

  describe('Listeners on several APRS-IS servers', () => {
    let another: AprsIsServer

    beforeEach(async () => {
      another = await startAprsIs({ clock, listen: network.listen, serverCall: 'T2OTHER' })
    })
    afterEach(() => another.close())

    /**
     * One address for several servers, like rotate.aprs2.net. Each connection goes to the next server, and later ones
     * go to the last.
     */
    function rotating(...servers: readonly AprsIsServer[]): Partial<LinkParts> {
      const ports = servers.map(({ port }) => port)
      return { connect: (to) => network.connect({ ...to, port: (ports.length > 1 ? ports.shift() : ports[0]) ?? 0 }) }
    }

    const serversOf = (first: LinkHarness | undefined) =>
      first?.link.status().connections.map((connection) => connection.server)

    it('a listener leaves a server that another listener already uses', async () => {
      const front = rotating(server, server, server, another)
      const a = await ready('a', {}, front)
      await clock.advance(1000)
      const b = await ready('b', {}, front)
      expect([a, b].map(serversOf)).to.deep.equal([['T2FIX'], ['T2OTHER']])
      expect(server.traffic.logins).to.equal(3)
      await b.reaches([])
    })

    it('if two listeners start on one server, the later one moves to another server', async () => {
      const front = rotating(server, server, another)
      const [a, b] = ['a', 'b'].map((name) => start(name, {}, front))
      await a?.ready()
      await b?.ready()
      await clock.advance(3000)
      await b?.until(() => serversOf(b)?.[0] === 'T2OTHER' && b.link.ready())
      expect(serversOf(a)).to.deep.equal(['T2FIX'])
    })

    it('after three tries to find another server, two listeners stay on the same one', async () => {
      await ready('a')
      await clock.advance(1000)
      await ready('b')
      expect(server.traffic.logins).to.equal(1 + 4)
      await clock.advance(10_000)
      expect(server.traffic).to.include({ logins: 1 + 4, replaced: 0 })
    })
  })
})
