import { expect } from 'chai'
import { CALL, LinkHarness, stationKeys } from './link-harness.ts'

describe('The APRS-IS connections for many stations', () => {
  let setup: LinkHarness

  beforeEach(async () => {
    setup = new LinkHarness()
    await setup.startServer()
  })
  afterEach(() => setup.close())

  const status = () => setup.link.status()
  const calls = () => setup.server.clients().map(({ call }) => call)
  const states = () => status().connections.map(({ state }) => state)

  for (const [count, connections] of [
    [1, 1],
    [55, 1],
    [56, 1],
    [900, 2],
    [5000, 6],
  ] as const) {
    // Shows: sidecar C7.1, C7.2, C7.3, C7.4, C7.5.
    it(`receives messages to ${count} stations (connections: ${connections})`, async () => {
      await setup.start(stationKeys(count))
      expect(calls()).to.have.length(connections)
      await setup.reaches(setup.stations)
      expect(setup.lines).to.have.length(count)
    })
  }

  // Shows: sidecar C7.3, C7.10.
  it('opens a new connection before it closes the old one, and loses no message', async () => {
    await setup.start(stationKeys(55))
    const texts: string[] = []
    const flow = () => texts.push(...setup.send(stationKeys(55)))
    flow()
    await setup.change(stationKeys(56))
    flow()
    await setup.ready()
    flow()
    await setup.clock.advance(4999)
    expect(states()).to.deep.equal(['up', 'up'])
    expect(calls()).to.deep.equal([CALL, 'N0CALL-99'])
    flow()
    // For the rest of the overlap, messages arrive at every stage of the old connection's end.
    setup.network.hold()
    await setup.clock.advance(1)
    for (flow(); calls().length > 1; flow()) {
      setup.network.step()
      await setup.clock.advance(0)
    }
    setup.network.release()
    await setup.reaches(stationKeys(56))
    expect(texts.filter((text) => !setup.has(text))).to.deep.equal([])
    expect(setup.metrics.value('upstream_disconnects')).to.equal(0)
  })

  it('a closing connection counts towards maxConnections', async () => {
    await setup.start(stationKeys(60), { maxConnections: 2 })
    await setup.change(stationKeys(61))
    await setup.ready()
    await setup.clock.advance(5000 - 1)
    setup.server.stall()
    await setup.clock.advance(1)
    expect(states()).to.deep.equal(['up', 'leaving'])
    await setup.change(stationKeys(62))
    expect(states()).to.deep.equal(['up', 'leaving'])
    await setup.clock.advance(3000)
    setup.server.resume()
    await setup.ready()
    await setup.reaches(stationKeys(62))
  })

  it('stays within maxConnections if all stations are replaced during a filter change', async () => {
    await setup.start(stationKeys(60), { maxConnections: 2 })
    await setup.change(stationKeys(61))
    await setup.until(() => calls().length === 2)
    setup.server.stall()
    await setup.change(stationKeys(60, 100))
    expect(states()).to.deep.equal(['leaving', 'leaving'])
    await setup.clock.advance(5000)
    setup.server.resume()
    await setup.ready()
    await setup.reaches(setup.stations)
  })

  // Shows: sidecar 2.13, C7.5.
  it('adding a station to 5,000 sends less than 500 bytes to APRS-IS', async () => {
    await setup.start(stationKeys(5000))
    const { bytesIn } = setup.server.traffic
    await setup.change(stationKeys(5001))
    await setup.ready()
    await setup.reaches(stationKeys(1, 5000))
    expect(setup.server.traffic.bytesIn - bytesIn).to.be.below(500)
  })

  it('after 10 minutes, one new login removes unregistered stations from large filters', async () => {
    await setup.start(stationKeys(900))
    await setup.change(stationKeys(899, 1))
    await setup.clock.advance(595_000)
    expect(setup.server.traffic.logins).to.equal(2)
    await setup.clock.advance(20_000)
    await setup.until(() => calls().length === 2)
    expect(setup.server.traffic.logins).to.equal(3)
    expect(setup.filters().join('/').split('/')).not.to.include(stationKeys(1)[0])
    await setup.reaches(setup.stations)
  })

  // Shows: sidecar C1.9.
  it('never exceeds maxConnections, and reports how many stations fit in no filter', async () => {
    setup.stations = new Set(stationKeys(1000))
    setup.connect({ maxConnections: 2 })
    let most = 0
    setup.server.events.on('login', () => {
      most = Math.max(most, setup.server.clients().length)
    })
    await setup.ready()
    expect(status().leftOut).to.be.within(100, 130)
    expect(setup.events('upstream-full')[0]).to.include({ level: 'error' })
    await setup.change(stationKeys(880, 500))
    await setup.clock.advance(6000)
    await setup.until(() => status().leftOut === 0 && setup.link.ready())
    await setup.reaches(setup.stations)
    expect(most).to.be.at.most(2)
  })

  // Shows: sidecar F1.6.
  it("a new connection takes the old one's callsign if maxConnections is 1", async () => {
    await setup.start(stationKeys(60), { maxConnections: 1 })
    const texts = setup.send(stationKeys(60))
    await setup.change(stationKeys(61))
    await setup.until(() => setup.server.traffic.logins === 2 && setup.link.ready())
    await setup.reaches(stationKeys(61))
    expect(calls()).to.deep.equal([CALL])
    await setup.clock.advance(60_000)
    expect(setup.server.traffic.logins).to.equal(2)
    expect(texts.filter((text) => !setup.has(text))).to.deep.equal([])
    // The server ended the first connection because of our login, so no line warns of it.
    expect(setup.logged.filter(({ level }) => level === 'warn')).to.deep.equal([])
    expect(setup.metrics.value('upstream_disconnects')).to.equal(0)
  })

  // Shows: sidecar C1.8, F1.6.
  it('never logs in with the callsign of a registered station, even one added later', async () => {
    await setup.start([...stationKeys(900), 'N0CALL-99'])
    expect(calls()).to.have.members([CALL, 'N0CALL-98'])
    await setup.change([...stationKeys(900), 'N0CALL-99', 'N0CALL-98'])
    await setup.clock.advance(15_000)
    await setup.until(() => !calls().includes('N0CALL-98') && setup.link.ready())
    await setup.reaches(setup.stations)
  })

  // Shows: sidecar C13.4.
  it('reports if no login callsign is free, and connects once one is free', async () => {
    const takenName = Array.from({ length: 84 }, (_, index) => `N0CALL-${index + 16}`)
    setup.stations = new Set([...stationKeys(900), ...takenName])
    setup.connect()
    await setup.until(() => setup.link.problems().length > 0 && setup.link.status().connected)
    expect(setup.link.problems()).to.deep.equal(['upstream_no_call'])
    expect(setup.link.ready()).to.equal(false)
    await setup.change(stationKeys(901))
    await setup.ready()
    expect(setup.link.problems()).to.deep.equal([])
    expect(setup.events('upstream-no-call').map(({ level }) => level)).to.deep.equal(['error'])
    await setup.reaches(setup.stations)
  })
})
