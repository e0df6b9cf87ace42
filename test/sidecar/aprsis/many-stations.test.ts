import { expect } from 'chai'
import { CALL, LinkHarness, stationKeys } from './link-harness.ts'

describe('The link to APRS-IS with many stations', () => {
  let its: LinkHarness

  beforeEach(async () => {
    its = new LinkHarness()
    await its.startServer()
  })
  afterEach(() => its.close())

  const status = () => its.link.status()
  const calls = () => its.server.clients().map(({ call }) => call)
  const states = () => status().connections.map(({ state }) => state)

  for (const [count, connections] of [
    [1, 1],
    [55, 1],
    [56, 1],
    [900, 2],
    [5000, 6],
  ] as const) {
    // Shows: sidecar C7.1, C7.2, C7.3, C7.4, C7.5.
    it(`gets the messages of ${count} stations by ${connections} connections`, async () => {
      await its.start(stationKeys(count))
      expect(calls()).to.have.length(connections)
      await its.reaches(its.stations)
      expect(its.lines).to.have.length(count)
    })
  }

  // Shows: sidecar C7.3, C7.10.
  it('replaces a connection before it goes, and loses nothing of what flows meanwhile', async () => {
    await its.start(stationKeys(55))
    const texts: string[] = []
    const flow = () => texts.push(...its.send(stationKeys(55)))
    flow()
    await its.change(stationKeys(56))
    flow()
    await its.ready()
    flow()
    await its.clock.advance(4999)
    expect(states()).to.deep.equal(['up', 'up'])
    expect(calls()).to.deep.equal([CALL, 'N0CALL-99'])
    flow()
    // The rest of the overlap, with messages in every state of the farewell.
    its.network.hold()
    await its.clock.advance(1)
    for (flow(); calls().length > 1; flow()) {
      its.network.step()
      await its.clock.advance(0)
    }
    its.network.release()
    await its.reaches(stationKeys(56))
    expect(texts.filter((text) => !its.has(text))).to.deep.equal([])
    expect(its.metrics.value('upstream_disconnects')).to.equal(0)
  })

  it('counts a connection that takes leave among those that it may have', async () => {
    await its.start(stationKeys(60), { maxConnections: 2 })
    await its.change(stationKeys(61))
    await its.ready()
    await its.clock.advance(5000 - 1)
    its.server.stall()
    await its.clock.advance(1)
    expect(states()).to.deep.equal(['up', 'leaving'])
    await its.change(stationKeys(62))
    expect(states()).to.deep.equal(['up', 'leaving'])
    await its.clock.advance(3000)
    its.server.resume()
    await its.ready()
    await its.reaches(stationKeys(62))
  })

  // Shows: sidecar 2.13, C7.5.
  it('adds a station to thousands with a few hundred bytes', async () => {
    await its.start(stationKeys(5000))
    const { bytesIn } = its.server.traffic
    await its.change(stationKeys(5001))
    await its.ready()
    await its.reaches(stationKeys(1, 5000))
    expect(its.server.traffic.bytesIn - bytesIn).to.be.below(500)
  })

  it('drops removed stations from big filters after 10 minutes with a single login', async () => {
    await its.start(stationKeys(900))
    await its.change(stationKeys(899, 1))
    await its.clock.advance(595_000)
    expect(its.server.traffic.logins).to.equal(2)
    await its.clock.advance(20_000)
    await its.until(() => calls().length === 2)
    expect(its.server.traffic.logins).to.equal(3)
    expect(its.filters().join('/').split('/')).not.to.include(stationKeys(1)[0])
    await its.reaches(its.stations)
  })

  // Shows: sidecar C1.9.
  it('stays within maxConnections even during changes, and counts unheard stations', async () => {
    its.stations = new Set(stationKeys(1000))
    its.connect({ maxConnections: 2 })
    let most = 0
    its.server.events.on('login', () => {
      most = Math.max(most, its.server.clients().length)
    })
    await its.ready()
    expect(status().leftOut).to.be.within(100, 130)
    expect(its.events('upstream-full')[0]).to.include({ level: 'error' })
    await its.change(stationKeys(880, 500))
    await its.clock.advance(6000)
    await its.until(() => status().leftOut === 0 && its.link.ready())
    await its.reaches(its.stations)
    expect(most).to.be.at.most(2)
  })

  // Shows: sidecar F1.6.
  it('makes do with one connection: the successor takes over its call', async () => {
    await its.start(stationKeys(60), { maxConnections: 1 })
    const texts = its.send(stationKeys(60))
    await its.change(stationKeys(61))
    await its.until(() => its.server.traffic.logins === 2 && its.link.ready())
    await its.reaches(stationKeys(61))
    expect(calls()).to.deep.equal([CALL])
    await its.clock.advance(60_000)
    expect(its.server.traffic.logins).to.equal(2)
    expect(texts.filter((text) => !its.has(text))).to.deep.equal([])
    // That the server ended the first one is our doing.
    expect(its.logged.filter(({ level }) => level === 'warn')).to.deep.equal([])
    expect(its.metrics.value('upstream_disconnects')).to.equal(0)
  })

  // Shows: sidecar C1.8, F1.6.
  it('never logs in as a registered station, and leaves a call that becomes one', async () => {
    await its.start([...stationKeys(900), 'N0CALL-99'])
    expect(calls()).to.have.members([CALL, 'N0CALL-98'])
    await its.change([...stationKeys(900), 'N0CALL-99', 'N0CALL-98'])
    await its.clock.advance(15_000)
    await its.until(() => !calls().includes('N0CALL-98') && its.link.ready())
    await its.reaches(its.stations)
  })

  // Shows: sidecar C13.4.
  it('reports that no login call is free, and opens the connection once one is', async () => {
    const taken = Array.from({ length: 84 }, (_, index) => `N0CALL-${index + 16}`)
    its.stations = new Set([...stationKeys(900), ...taken])
    its.connect()
    await its.until(() => its.link.problems().length > 0 && its.link.status().connected)
    expect(its.link.problems()).to.deep.equal(['upstream_no_call'])
    expect(its.link.ready()).to.equal(false)
    await its.change(stationKeys(901))
    await its.ready()
    expect(its.link.problems()).to.deep.equal([])
    expect(its.events('upstream-no-call').map(({ level }) => level)).to.deep.equal(['error'])
    await its.reaches(its.stations)
  })
})
