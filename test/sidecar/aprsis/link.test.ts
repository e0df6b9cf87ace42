import { expect } from 'chai'
import { passcodeOf } from '../../../fixtures/aprsis/passcode.ts'
import { CALL, LinkHarness, stationKeys } from './link-harness.ts'

describe('The link to APRS-IS', () => {
  let setup: LinkHarness

  beforeEach(async () => {
    setup = new LinkHarness()
    await setup.startServer()
  })
  afterEach(() => setup.close())

  const status = () => setup.link.status()
  const states = () => status().connections.map(({ state }) => state)

  describe('The login of the link to APRS-IS', () => {
    // Shows: sidecar 2.2.
    it('logs in with the configured callsign, and with the filter in the login line', async () => {
      await setup.start(['AA1AA-1', 'OE1ABC-7'])
      expect(setup.server.clients()[0]).to.include({ call: CALL, verified: true, filter: 'g/AA1AA-1/OE1ABC-7' })
      expect(status()).to.include({ connected: true, verified: true, ready: true, leftOut: 0 })
      expect(status()).to.deep.include({ listener: 0, listeners: { held: 1, wanted: 1 }, others: [] })
      expect(status().connections[0]).to.include({ callsign: CALL, state: 'up', server: 'T2FIX', stations: 2 })
      expect(setup.metrics.value('upstream_connects')).to.equal(1)
      expect(setup.metrics.value('filters_sent')).to.equal(1)
    })

    // Shows: sidecar F1.16.
    it('delivers packet lines in order and byte for byte, but no server comments', async () => {
      await setup.start(['BB1BB'])
      const bytes = [0xc3, 0xa4, 0xff, 0x80]
      setup.server.inject(Buffer.from([...Buffer.from('AA1AA>APRS,TCPIP*,qAC,X::BB1BB    :'), ...bytes]))
      await setup.clock.advance(20_000)
      setup.server.inject('AA1AA>APRS,TCPIP*,qAC,X::BB1BB    :second')
      await setup.until(() => setup.lines.length === 2)
      expect(setup.lines[0]).to.equal(`AA1AA>APRS,TCPIP*,qAC,X::BB1BB    :${String.fromCharCode(...bytes)}`)
      expect(setup.lines[1]).to.equal('AA1AA>APRS,TCPIP*,qAC,X::BB1BB    :second')
      expect(setup.metrics.value('lines_received')).to.equal(2)
    })

    // Shows: sidecar F1.12.
    it('stays logged in without stations, with a filter for its own callsign only', async () => {
      await setup.start([])
      expect(setup.filters()).to.deep.equal([`g/${CALL}`])
      await setup.change(['AA1AA'])
      await setup.until(() => setup.link.ready())
      await setup.change([])
      await setup.until(() => setup.filters()[0] === `g/${CALL}` && setup.link.ready())
    })

    // Shows: sidecar C1.7.
    it('receives with passcode -1, and logs once that the link cannot send', async () => {
      await setup.start(['AA1AA'], { passcode: -1 })
      await setup.reaches(['AA1AA'])
      expect(status()).to.include({ connected: true, verified: false })
      expect(setup.link.verified()).to.equal(false)
      expect(setup.link.send('N0CALL-10>APRS,TCPIP*:>x')).to.equal(false)
      expect(setup.events('upstream-receive-only')).to.have.length(1)
      expect(setup.events('upstream-unverified')).to.have.length(0)
    })

    // Shows: sidecar C7.14.
    it('logs an error if APRS-IS rejects the passcode, and keeps receiving', async () => {
      setup.server.answerUnverified = true
      await setup.start(['AA1AA'])
      await setup.reaches(['AA1AA'])
      expect(setup.events('upstream-unverified')[0]).to.include({ level: 'error' })
      expect(setup.link.send('N0CALL-10>APRS,TCPIP*:>x')).to.equal(false)
      expect(JSON.stringify(setup.logged)).not.to.include(String(passcodeOf(CALL)))
    })

    it('a login answer without the word verified means an unverified login', async () => {
      setup.server.terseLogins = true
      setup.server.answerUnverified = true
      await setup.start(['AA1AA'])
      await setup.reaches(['AA1AA'])
      expect(status()).to.include({ connected: true, verified: false })
      expect(setup.events('upstream-unverified')[0]).to.include({ server: 'T2FIX' })
    })

    // Shows: sidecar C7.13.
    it('retries while APRS-IS refuses the login, and logs the reason', async () => {
      setup.server.refuseLogins = true
      setup.connect()
      await setup.until(() => states()[0] === 'waiting')
      expect(setup.events('upstream-down')[0]).to.include({ level: 'warn' })
      expect(setup.events('upstream-down')[0]?.reason).to.include('Login by user not allowed')
      expect(setup.metrics.value('upstream_disconnects')).to.equal(0)
      setup.server.refuseLogins = false
      await setup.clock.advance(1000)
      await setup.ready()
    })

    // Shows: sidecar C7.12.
    it('drops a server that does not answer the login within 10 s, and reconnects', async () => {
      setup.server.stall()
      setup.connect()
      await setup.clock.advance(0)
      await setup.clock.advance(10_000)
      expect(states()).to.deep.equal(['waiting'])
      expect(setup.events('upstream-down')[0]?.reason).to.include('no answer to the login')
      setup.server.resume()
      await setup.clock.advance(1000)
      await setup.ready()
    })
  })

  describe('The sending of lines to APRS-IS', () => {
    // Shows: sidecar F1.4.
    it('refuses to send a line that is too long, has line breaks or is a command', async () => {
      await setup.start([])
      const head = 'N0CALL-10>APRS,TCPIP*:>'
      expect(setup.link.send(head.padEnd(509, 'x'))).to.equal(true)
      for (const line of [head.padEnd(510, 'x'), `${head.padEnd(508, 'x')}ä`, `${head}\r`, `${head}\nx`, `${head}\0`]) {
        expect(setup.link.send(line), JSON.stringify(line)).to.equal(false)
      }
      expect(setup.link.send('#filter g/EVIL')).to.equal(false)
      expect(setup.link.send('')).to.equal(false)
    })

    // Shows: sidecar C4.13.
    it('refuses to send lines before the login and after close', async () => {
      setup.connect()
      expect(setup.link.send('N0CALL-10>APRS,TCPIP*:>x')).to.equal(false)
      await setup.ready()
      await setup.link.close()
      expect(setup.link.send('N0CALL-10>APRS,TCPIP*:>x')).to.equal(false)
    })

    // Shows: sidecar C7.19.
    it('refuses more lines if APRS-IS stops reading, so that the queue stays bounded', async () => {
      await setup.start([])
      setup.server.stall()
      let sent = 0
      while (setup.link.send(`N0CALL-10>APRS,TCPIP*:>${String(sent).padEnd(480, 'x')}`)) sent += 1
      expect(sent).to.be.lessThan(50_000)
      // Closing waits at most a second for that server.
      const closed = setup.link.close()
      await setup.clock.advance(1000)
      await closed
    })

    // Shows: sidecar F1.11.
    it("sends a station's line over the connection that has the station in its filter", async () => {
      await setup.start(stationKeys(900))
      const carriedBy = (key: string) =>
        setup.server.clients().find(({ filter }) => filter.split('/').includes(key))?.call
      for (const key of [stationKeys(1)[0], stationKeys(1, 899)[0]]) {
        setup.link.send(`${key}>APRS,TCPIP*::BB1BB    :ack1`)
        const { login } = await setup.server.waitFor(({ line }) => line.startsWith(`${key}>`))
        expect(login).to.equal(carriedBy(key ?? ''))
      }
      expect(setup.server.clients()).to.have.length(2)
    })
  })

  describe('The back-pressure of the link to APRS-IS', () => {
    // Shows: sidecar C7.19.
    it('pauses reading above 5,000 unhandled lines, and resumes below half', async () => {
      const held: (() => void)[] = []
      let takenName = 0
      const receive = (lines: readonly string[]) => {
        takenName += lines.length
        setup.take(lines)
        return new Promise<void>((resolve) => held.push(resolve))
      }
      await setup.start(['AA1AA'], {}, {}, receive)
      const all = 60_000
      for (let count = 0; count < all; count++) setup.send(['AA1AA'])
      await setup.until(() => status().paused)
      const takenWhenFull = takenName
      // The lines of one more read may be added.
      expect(takenWhenFull).to.be.within(5001, 7000)
      await setup.clock.advance(200_000)
      expect(takenName).to.equal(takenWhenFull)
      expect(states()).to.deep.equal(['up'])
      // A connection that opens during the pause is not read either.
      await setup.change(['AA1AA', ...stationKeys(99)])
      await setup.until(() => states().filter((state) => state === 'up').length === 2)
      const more = setup.send(stationKeys(99))
      await setup.clock.advance(0)
      expect(takenName).to.equal(takenWhenFull)
      for (const settle of held.splice(0)) settle()
      await setup.until(() => {
        for (const settle of held.splice(0)) settle()
        return takenName === all + more.length
      })
      expect(status().paused).to.equal(false)
    })

    it('keeps delivering lines after the receiver threw an error, and logs the failure', async () => {
      const receive = async (lines: readonly string[]) => {
        setup.take(lines)
        if (setup.lines.length === 1) throw new Error('disk full')
      }
      await setup.start(['AA1AA'], {}, {}, receive)
      await setup.reaches(['AA1AA'])
      await setup.until(() => setup.events('lines-not-processed').length === 1)
      await setup.reaches(['AA1AA'])
    })
  })

  describe('The closing of the link to APRS-IS', () => {
    it('closing the link ends every connection, cancels all timers, and is idempotent', async () => {
      await setup.start(stationKeys(900))
      // An addition to the small connection schedules an overlap and a cleanup. `refilter` adds another change.
      await setup.change(stationKeys(920, 1))
      await setup.ready()
      setup.link.refilter()
      await setup.link.close()
      await setup.link.close()
      await setup.server.until(() => setup.server.clients().length === 0)
      setup.link.refilter()
      // Only the server's comment lines are still scheduled.
      expect(setup.clock.pending).to.equal(1)
      const { logins } = setup.server.traffic
      await setup.clock.advance(700_000)
      expect(setup.server.traffic.logins).to.equal(logins)
      expect(states()).to.deep.equal(states().map(() => 'closed'))
    })

    it('closing the link waits until the receiver has processed all delivered lines', async () => {
      let settle = () => {}
      const receive = (lines: readonly string[]) => {
        setup.take(lines)
        return new Promise<void>((resolve) => {
          settle = resolve
        })
      }
      await setup.start(['AA1AA'], {}, {}, receive)
      setup.send(['AA1AA'])
      await setup.until(() => setup.lines.length === 1)
      const order: string[] = []
      const closed = setup.link.close().then(() => order.push('closed'))
      await setup.server.until(() => setup.server.clients().length === 0)
      await setup.clock.advance(1000)
      order.push('settled')
      settle()
      await closed
      expect(order).to.deep.equal(['settled', 'closed'])
    })

    it('the link to APRS-IS delivers no lines after it closed', async () => {
      await setup.start(['AA1AA'])
      setup.network.hold()
      setup.send(['AA1AA'])
      await setup.clock.advance(0)
      const closed = setup.link.close()
      setup.network.release()
      await closed
      await setup.clock.advance(0)
      expect(setup.lines).to.deep.equal([])
    })
  })
})
