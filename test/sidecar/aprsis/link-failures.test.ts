import { expect } from 'chai'
import { passcodeOf } from '../../../fixtures/aprsis/passcode.ts'
import { CALL, LinkHarness } from './link-harness.ts'

describe('The link to APRS-IS when connections fail', () => {
  let setup: LinkHarness

  beforeEach(async () => {
    setup = new LinkHarness()
    await setup.startServer()
  })
  afterEach(() => setup.close())

  const status = () => setup.link.status()
  const states = () => status().connections.map(({ state }) => state)
  const downs = () => setup.events('upstream-down')
  /** Drops every login. Resolves after `count` of them were reported as ended. */
  async function drop(count: number): Promise<void> {
    setup.server.dropAll()
    await setup.until(() => downs().length === count)
  }
  /** Advances the time to the next try. Returns the waiting time in milliseconds. */
  async function waitOut(): Promise<unknown> {
    const { retryInMs } = downs().at(-1) ?? {}
    await setup.clock.advance(Number(retryInMs))
    return retryInMs
  }

  // Shows: sidecar C7.11.
  it('reconnects after a reset, with the newest filter in the login line', async () => {
    await setup.start(['AA1AA'])
    setup.server.dropAll()
    await setup.until(() => states()[0] === 'waiting')
    expect(status()).to.include({ connected: false, verified: false, ready: false })
    expect(setup.metrics.value('upstream_disconnects')).to.equal(1)
    setup.stations = new Set(['AA1AA-1', 'BB1BB-1'])
    setup.link.refilter()
    await setup.clock.advance(2000)
    await setup.ready()
    expect(setup.filters()).to.deep.equal(['g/AA1AA-1/BB1BB-1'])
    await setup.reaches(['AA1AA-1', 'BB1BB-1'])
  })

  // Shows: sidecar C7.11.
  it('each failed login lengthens the wait to reconnect; a successful one shortens it', async () => {
    await setup.start([], {}, { random: () => 0.999999 })
    setup.server.refuseLogins = true
    setup.server.dropAll()
    const waits: unknown[] = []
    for (let tries = 1; tries <= 4; tries++) {
      await setup.until(() => downs().length === tries)
      if (tries === 4) setup.server.refuseLogins = false
      waits.push(await waitOut())
    }
    await setup.ready()
    await drop(5)
    waits.push(await waitOut())
    expect(waits).to.deep.equal([2000, 2000, 4000, 8000, 4000])
  })

  for (const [when, unverified, lasted, expected] of [
    [
      'only briefly to reconnect after a login of 60 s or more',
      false,
      [0, 0, 59_000, 60_000],
      [2000, 4000, 4000, 2000],
    ],
    ['longer to reconnect after each login that is not verified', true, [0, 0, 0, 0], [2000, 4000, 8000, 16_000]],
  ] as const)
    it(`the link to APRS-IS waits ${when}`, async () => {
      setup.server.answerUnverified = unverified
      setup.connect({}, { random: () => 0.999999 })
      const waits: unknown[] = []
      for (const [drops, lastedMs] of lasted.entries()) {
        await setup.until(() => status().connected)
        await setup.clock.advance(lastedMs)
        await drop(drops + 1)
        waits.push(await waitOut())
      }
      expect(waits).to.deep.equal(expected)
    })

  for (const [name, passcode] of [
    ['verified', passcodeOf(CALL)],
    ['receive-only', -1],
  ] as const) {
    // Shows: sidecar C7.11.
    it(`if a ${name} login is dropped repeatedly, reconnects after 2 to 4 s each time`, async () => {
      await setup.start(['AA1AA'], { passcode }, { random: Math.random })
      for (let drops = 1; drops <= 40; drops++) {
        await setup.ready()
        await drop(drops)
        if (drops > 1) await setup.clock.advance(1999)
        expect(setup.server.traffic.connections).to.equal(drops)
        await setup.clock.advance(2001)
      }
      await setup.ready()
      await setup.reaches(['AA1AA'])
    })
  }

  it('warns of connection drops 1, 2, 4, 8 and 16; after 60 s connected, counts anew', async () => {
    setup.connect()
    const notified = () => downs().filter(({ level }) => level === 'warn')
    for (let drops = 1; drops <= 20; drops++) {
      await setup.ready()
      await drop(drops)
      await setup.clock.advance(2000)
    }
    expect(notified().map(({ drops }) => drops)).to.deep.equal([1, 2, 4, 8, 16])
    expect(setup.events('upstream-login').filter(({ level }) => level === 'info').length).to.be.below(8)
    await setup.ready()
    await setup.clock.advance(60_000)
    setup.server.dropAll()
    await setup.until(() => notified().length === 6)
    expect(notified().at(-1)?.drops).to.equal(1)
  })

  it('after three drops in 15 minutes, warns that another program uses the callsign', async () => {
    await setup.start(['AA1AA'])
    const flaps = () => setup.events('upstream-flaps')
    const drops = () => setup.link.status().connections[0]?.recentDrops
    for (let drop = 1; drop <= 4; drop++) {
      const second = new LinkHarness(setup.clock, setup.network)
      second.server = setup.server
      second.connect()
      await setup.until(() => drops() === drop)
      await second.link.close()
      expect(flaps()).to.have.length(drop < 3 ? 0 : 1)
      await waitOut()
      await setup.ready()
      await setup.clock.advance(3 * 60_000)
    }
    expect(flaps()[0]).to.include({ level: 'warn', call: CALL, drops: 3 })
    expect(flaps()[0]?.msg).to.include('another program logs in with the same callsign')
    await setup.clock.advance(15 * 60_000)
    expect(drops()).to.equal(0)
  })

  // Shows: sidecar C7.15.
  it('warns of an outage of APRS-IS once, however long it lasts', async () => {
    const { port } = setup.server
    await setup.start([])
    await setup.server.close()
    for (let tries = 1; tries < 6; tries++) {
      await setup.until(() => setup.events('upstream-down').length === tries)
      await setup.clock.advance(1000)
    }
    expect(setup.events('upstream-down').filter(({ level }) => level === 'warn')).to.have.length(1)
    await setup.startServer({ port })
    await setup.until(() => setup.events('upstream-down').length === 6 || setup.link.ready())
    await setup.clock.advance(1000)
    await setup.ready()
  })

  it('sends a comment line after 30 min without sending, even with an unverified login', async () => {
    await setup.start(['AA1AA'], { passcode: -1 })
    const written = setup.server.clients()[0]?.bytesIn ?? 0
    await setup.clock.advance(30 * 60_000 - 20_000)
    expect(setup.server.clients()[0]?.bytesIn).to.equal(written)
    await setup.clock.advance(20_000)
    await setup.until(() => (setup.server.clients()[0]?.bytesIn ?? 0) > written)
    const once = setup.server.clients()[0]?.bytesIn ?? 0
    expect(setup.server.received).to.deep.equal([])
    await setup.clock.advance(30 * 60_000)
    await setup.until(() => setup.server.clients()[0]?.bytesIn === once + (once - written))
  })

  // Shows: sidecar C7.12, F1.16.
  it('drops an APRS-IS server that is silent for more than 60 s', async () => {
    await setup.start([])
    await setup.clock.advance(120_000)
    expect(states()).to.deep.equal(['up'])
    setup.server.stall()
    await setup.clock.advance(59_000)
    expect(states()).to.deep.equal(['up'])
    await setup.clock.advance(17_000)
    expect(setup.events('upstream-down')[0]?.reason).to.equal('the server was silent for a minute')
    setup.server.resume()
    await setup.clock.advance(1000)
    await setup.ready()
  })

  // Shows: sidecar F1.16.
  it('drops an APRS-IS server that sends bytes but no complete line for a minute', async () => {
    await setup.server.close()
    await setup.startServer({ chatterMs: 10 * 60_000 })
    await setup.start([])
    for (let seconds = 0; seconds < 75; seconds++) {
      expect(states()).to.deep.equal(['up'])
      setup.server.drip('x')
      await setup.clock.advance(1000)
    }
    expect(states()).to.deep.equal(['waiting'])
    expect(setup.events('upstream-down')[0]?.reason).to.equal('the server was silent for a minute')
  })

  // Shows: sidecar F1.4.
  it('drops received lines over 4 KiB and delivers the lines after them', async () => {
    await setup.start(['AA1AA'])
    setup.server.say('x'.repeat(5000))
    await setup.reaches(['AA1AA'])
    expect(setup.metrics.value('lines_too_long')).to.equal(1)
    expect(setup.lines).to.have.length(1)
  })
})
