import { expect } from 'chai'
import { passcodeOf } from '../../../fixtures/aprsis/passcode.ts'
import { CALL, LinkHarness, stationKeys } from './link-harness.ts'

describe('The link to APRS-IS', () => {
  let its: LinkHarness

  beforeEach(async () => {
    its = new LinkHarness()
    await its.startServer()
  })
  afterEach(() => its.close())

  const status = () => its.link.status()
  const states = () => status().connections.map(({ state }) => state)

  describe('logging in', () => {
    // Shows: sidecar 2.2.
    it('logs in verified with the configured call and the filter in the login line', async () => {
      await its.start(['AA1AA-1', 'OE1ABC-7'])
      expect(its.server.clients()[0]).to.include({ call: CALL, verified: true, filter: 'g/AA1AA-1/OE1ABC-7' })
      expect(status()).to.include({ connected: true, verified: true, ready: true, leftOut: 0 })
      expect(status()).to.deep.include({ listener: 0, listeners: { held: 1, wanted: 1 }, others: [] })
      expect(status().connections[0]).to.include({ callsign: CALL, state: 'up', server: 'T2FIX', stations: 2 })
      expect(its.metrics.value('upstream_connects')).to.equal(1)
      expect(its.metrics.value('filters_sent')).to.equal(1)
    })

    // Shows: sidecar F1.16.
    it('hands over packet lines in order, byte for byte, and no server comments', async () => {
      await its.start(['BB1BB'])
      const bytes = [0xc3, 0xa4, 0xff, 0x80]
      its.server.inject(Buffer.from([...Buffer.from('AA1AA>APRS,TCPIP*,qAC,X::BB1BB    :'), ...bytes]))
      await its.clock.advance(20_000)
      its.server.inject('AA1AA>APRS,TCPIP*,qAC,X::BB1BB    :second')
      await its.until(() => its.lines.length === 2)
      expect(its.lines[0]).to.equal(`AA1AA>APRS,TCPIP*,qAC,X::BB1BB    :${String.fromCharCode(...bytes)}`)
      expect(its.lines[1]).to.equal('AA1AA>APRS,TCPIP*,qAC,X::BB1BB    :second')
      expect(its.metrics.value('lines_received')).to.equal(2)
    })

    // Shows: sidecar F1.12.
    it('stays logged in without stations, with a filter for its own call only', async () => {
      await its.start([])
      expect(its.filters()).to.deep.equal([`g/${CALL}`])
      await its.change(['AA1AA'])
      await its.until(() => its.link.ready())
      await its.change([])
      await its.until(() => its.filters()[0] === `g/${CALL}` && its.link.ready())
    })

    // Shows: sidecar C1.7.
    it('logs in unverified with passcode -1, says once that it cannot send, and receives', async () => {
      await its.start(['AA1AA'], { passcode: -1 })
      await its.reaches(['AA1AA'])
      expect(status()).to.include({ connected: true, verified: false })
      expect([its.link.verified(), its.link.send('N0CALL-10>APRS,TCPIP*:>x')]).to.deep.equal([false, false])
      expect(its.events('upstream-receive-only')).to.have.length(1)
      expect(its.events('upstream-unverified')).to.have.length(0)
    })

    // Shows: sidecar C7.14.
    it('logs an error when a real passcode is not accepted, and goes on receiving', async () => {
      its.server.answerUnverified = true
      await its.start(['AA1AA'])
      await its.reaches(['AA1AA'])
      expect(its.events('upstream-unverified')[0]).to.include({ level: 'error' })
      expect(its.link.send('N0CALL-10>APRS,TCPIP*:>x')).to.equal(false)
      expect(JSON.stringify(its.logged)).not.to.include(String(passcodeOf(CALL)))
    })

    it('takes an answer without the word verified for an unverified login', async () => {
      its.server.terseLogins = true
      its.server.answerUnverified = true
      await its.start(['AA1AA'])
      await its.reaches(['AA1AA'])
      expect(status()).to.include({ connected: true, verified: false })
      expect(its.events('upstream-unverified')[0]).to.include({ server: 'T2FIX' })
    })

    // Shows: sidecar C7.13.
    it('tries again while logins are refused, and says why in the log', async () => {
      its.server.refuseLogins = true
      its.connect()
      await its.until(() => states()[0] === 'waiting')
      expect(its.events('upstream-down')[0]).to.include({ level: 'warn' })
      expect(its.events('upstream-down')[0]?.reason).to.include('Login by user not allowed')
      expect(its.metrics.value('upstream_disconnects')).to.equal(0)
      its.server.refuseLogins = false
      await its.clock.advance(1000)
      await its.ready()
    })

    // Shows: sidecar C7.12.
    it('drops a server that does not answer the login within 10 s, and reconnects', async () => {
      its.server.stall()
      its.connect()
      await its.clock.advance(0)
      await its.clock.advance(10_000)
      expect(states()).to.deep.equal(['waiting'])
      expect(its.events('upstream-down')[0]?.reason).to.include('no answer to the login')
      its.server.resume()
      await its.clock.advance(1000)
      await its.ready()
    })
  })

  describe('faults', () => {
    const downs = () => its.events('upstream-down')
    /** Drops every login; resolves once it is said that this was the end of `count` of them. */
    async function drop(count: number): Promise<void> {
      its.server.dropAll()
      await its.until(() => downs().length === count)
    }
    /** Lets the time to the next try go by; resolves with how long that was. */
    async function waitOut(): Promise<unknown> {
      const { retryInMs } = downs().at(-1) ?? {}
      await its.clock.advance(Number(retryInMs))
      return retryInMs
    }

    // Shows: sidecar C7.11.
    it('reconnects after a reset, with the newest filter in the login line', async () => {
      await its.start(['AA1AA'])
      its.server.dropAll()
      await its.until(() => states()[0] === 'waiting')
      expect(status()).to.include({ connected: false, verified: false, ready: false })
      expect(its.metrics.value('upstream_disconnects')).to.equal(1)
      its.stations = new Set(['AA1AA-1', 'BB1BB-1'])
      its.link.refilter()
      await its.clock.advance(2000)
      await its.ready()
      expect(its.filters()).to.deep.equal(['g/AA1AA-1/BB1BB-1'])
      await its.reaches(['AA1AA-1', 'BB1BB-1'])
    })

    // Shows: sidecar C7.11.
    it('waits longer after each failure, and briefly again after a login', async () => {
      await its.start([], {}, { random: () => 0.999999 })
      its.server.refuseLogins = true
      its.server.dropAll()
      const waits: unknown[] = []
      for (let tries = 1; tries <= 4; tries++) {
        await its.until(() => downs().length === tries)
        if (tries === 4) its.server.refuseLogins = false
        waits.push(await waitOut())
      }
      await its.ready()
      await drop(5)
      waits.push(await waitOut())
      expect(waits).to.deep.equal([2000, 2000, 4000, 8000, 4000])
    })

    for (const [when, unverified, lasted, expected] of [
      ['briefly after a login that lasted', false, [0, 0, 59_000, 60_000], [2000, 4000, 4000, 2000]],
      ['longer after each login that should be verified and is not', true, [0, 0, 0, 0], [2000, 4000, 8000, 16_000]],
    ] as const)
      it(`waits ${when}`, async () => {
        its.server.answerUnverified = unverified
        its.connect({}, { random: () => 0.999999 })
        const waits: unknown[] = []
        for (const [drops, lastedMs] of lasted.entries()) {
          await its.until(() => status().connected)
          await its.clock.advance(lastedMs)
          await drop(drops + 1)
          waits.push(await waitOut())
        }
        expect(waits).to.deep.equal(expected)
      })

    for (const [what, passcode] of [
      ['verified', passcodeOf(CALL)],
      ['receive-only', -1],
    ] as const) {
      // Shows: sidecar C7.11.
      it(`reconnects after a dropped ${what} login within 5 s, but at most every 2 s`, async () => {
        await its.start(['AA1AA'], { passcode }, { random: Math.random })
        for (let drops = 1; drops <= 40; drops++) {
          await its.ready()
          await drop(drops)
          if (drops > 1) await its.clock.advance(1999)
          expect(its.server.traffic.connections).to.equal(drops)
          await its.clock.advance(2001)
        }
        await its.ready()
        await its.reaches(['AA1AA'])
      })
    }

    it('warns at drops 1, 2, 4, 8 and 16 in a row, and anew after a login that lasted', async () => {
      its.connect()
      const told = () => downs().filter(({ level }) => level === 'warn')
      for (let drops = 1; drops <= 20; drops++) {
        await its.ready()
        await drop(drops)
        await its.clock.advance(2000)
      }
      expect(told().map(({ drops }) => drops)).to.deep.equal([1, 2, 4, 8, 16])
      expect(its.events('upstream-login').filter(({ level }) => level === 'info').length).to.be.below(8)
      await its.ready()
      await its.clock.advance(60_000)
      its.server.dropAll()
      await its.until(() => told().length === 6)
      expect(told().at(-1)?.drops).to.equal(1)
    })

    it('warns once of the likely cause when another program takes its login a third time', async () => {
      await its.start(['AA1AA'])
      const flaps = () => its.events('upstream-flaps')
      const drops = () => its.link.status().connections[0]?.recentDrops
      for (let drop = 1; drop <= 4; drop++) {
        const other = new LinkHarness(its.clock, its.network)
        other.server = its.server
        other.connect()
        await its.until(() => drops() === drop)
        await other.link.close()
        expect(flaps()).to.have.length(drop < 3 ? 0 : 1)
        await waitOut()
        await its.ready()
        await its.clock.advance(3 * 60_000)
      }
      expect(flaps()[0]).to.include({ level: 'warn', call: CALL, drops: 3 })
      expect(flaps()[0]?.msg).to.include('another program logs in with the same callsign')
      await its.clock.advance(15 * 60_000)
      expect(drops()).to.equal(0)
    })

    // Shows: sidecar C7.15.
    it('tells of an outage once, however long it lasts', async () => {
      const { port } = its.server
      await its.start([])
      await its.server.close()
      for (let tries = 1; tries < 6; tries++) {
        await its.until(() => its.events('upstream-down').length === tries)
        await its.clock.advance(1000)
      }
      expect(its.events('upstream-down').filter(({ level }) => level === 'warn')).to.have.length(1)
      await its.startServer({ port })
      await its.until(() => its.events('upstream-down').length === 6 || its.link.ready())
      await its.clock.advance(1000)
      await its.ready()
    })

    it('writes a comment line after sending nothing for half an hour, even unverified', async () => {
      await its.start(['AA1AA'], { passcode: -1 })
      const written = its.server.clients()[0]?.bytesIn ?? 0
      await its.clock.advance(30 * 60_000 - 20_000)
      expect(its.server.clients()[0]?.bytesIn).to.equal(written)
      await its.clock.advance(20_000)
      await its.until(() => (its.server.clients()[0]?.bytesIn ?? 0) > written)
      const once = its.server.clients()[0]?.bytesIn ?? 0
      expect(its.server.received).to.deep.equal([])
      await its.clock.advance(30 * 60_000)
      await its.until(() => its.server.clients()[0]?.bytesIn === once + (once - written))
    })

    // Shows: sidecar C7.12, F1.16.
    it('takes a server that says nothing for more than 60 s for dead', async () => {
      await its.start([])
      await its.clock.advance(120_000)
      expect(states()).to.deep.equal(['up'])
      its.server.stall()
      await its.clock.advance(59_000)
      expect(states()).to.deep.equal(['up'])
      await its.clock.advance(17_000)
      expect(its.events('upstream-down')[0]?.reason).to.equal('the server was silent for a minute')
      its.server.resume()
      await its.clock.advance(1000)
      await its.ready()
    })

    // Shows: sidecar F1.16.
    it('takes a server that sends a byte a second and never a line for dead, too', async () => {
      await its.server.close()
      await its.startServer({ chatterMs: 10 * 60_000 })
      await its.start([])
      for (let seconds = 0; seconds < 75; seconds++) {
        expect(states()).to.deep.equal(['up'])
        its.server.drip('x')
        await its.clock.advance(1000)
      }
      expect(states()).to.deep.equal(['waiting'])
      expect(its.events('upstream-down')[0]?.reason).to.equal('the server was silent for a minute')
    })

    // Shows: sidecar F1.4.
    it('drops lines over 4 KiB and goes on', async () => {
      await its.start(['AA1AA'])
      its.server.say('x'.repeat(5000))
      await its.reaches(['AA1AA'])
      expect(its.metrics.value('lines_too_long')).to.equal(1)
      expect(its.lines).to.have.length(1)
    })
  })

  describe('sending', () => {
    // Shows: sidecar F1.4.
    it('sends nothing that is too long, breaks the line or is a command', async () => {
      await its.start([])
      const head = 'N0CALL-10>APRS,TCPIP*:>'
      expect(its.link.send(head.padEnd(509, 'x'))).to.equal(true)
      for (const line of [head.padEnd(510, 'x'), `${head.padEnd(508, 'x')}ä`, `${head}\r`, `${head}\nx`, `${head}\0`]) {
        expect(its.link.send(line), JSON.stringify(line)).to.equal(false)
      }
      expect(its.link.send('#filter g/EVIL')).to.equal(false)
      expect(its.link.send('')).to.equal(false)
    })

    // Shows: sidecar C4.13.
    it('sends nothing before the login and after the close', async () => {
      its.connect()
      expect(its.link.send('N0CALL-10>APRS,TCPIP*:>x')).to.equal(false)
      await its.ready()
      await its.link.close()
      expect(its.link.send('N0CALL-10>APRS,TCPIP*:>x')).to.equal(false)
    })

    // Shows: sidecar C7.19.
    it('refuses lines rather than pile them up when the server does not read', async () => {
      await its.start([])
      its.server.stall()
      let sent = 0
      while (its.link.send(`N0CALL-10>APRS,TCPIP*:>${String(sent).padEnd(480, 'x')}`)) sent += 1
      expect(sent).to.be.lessThan(50_000)
      // Nor does the end wait for that server for more than a second.
      const closed = its.link.close()
      await its.clock.advance(1000)
      await closed
    })

    // Shows: sidecar F1.11.
    it('sends what comes from a station by the connection that carries it', async () => {
      await its.start(stationKeys(900))
      const carriedBy = (key: string) =>
        its.server.clients().find(({ filter }) => filter.split('/').includes(key))?.call
      for (const key of [stationKeys(1)[0], stationKeys(1, 899)[0]]) {
        its.link.send(`${key}>APRS,TCPIP*::BB1BB    :ack1`)
        const { login } = await its.server.waitFor(({ line }) => line.startsWith(`${key}>`))
        expect(login).to.equal(carriedBy(key ?? ''))
      }
      expect(its.server.clients()).to.have.length(2)
    })
  })

  describe('back-pressure', () => {
    // Shows: sidecar C7.19.
    it('pauses reading above 5,000 unhandled lines, and resumes below half', async () => {
      const held: (() => void)[] = []
      let taken = 0
      const receive = (lines: readonly string[]) => {
        taken += lines.length
        its.take(lines)
        return new Promise<void>((resolve) => held.push(resolve))
      }
      await its.start(['AA1AA'], {}, {}, receive)
      const all = 60_000
      for (let count = 0; count < all; count++) its.send(['AA1AA'])
      await its.until(() => status().paused)
      const takenWhenFull = taken
      // What one read brings at most may come on top.
      expect(takenWhenFull).to.be.within(5001, 7000)
      await its.clock.advance(200_000)
      expect(taken).to.equal(takenWhenFull)
      expect(states()).to.deep.equal(['up'])
      // A connection that is opened meanwhile is not read either.
      await its.change(['AA1AA', ...stationKeys(99)])
      await its.until(() => states().filter((state) => state === 'up').length === 2)
      const more = its.send(stationKeys(99))
      await its.clock.advance(0)
      expect(taken).to.equal(takenWhenFull)
      for (const settle of held.splice(0)) settle()
      await its.until(() => {
        for (const settle of held.splice(0)) settle()
        return taken === all + more.length
      })
      expect(status().paused).to.equal(false)
    })

    it('goes on after the pipeline rejected, and says so', async () => {
      const receive = async (lines: readonly string[]) => {
        its.take(lines)
        if (its.lines.length === 1) throw new Error('disk full')
      }
      await its.start(['AA1AA'], {}, {}, receive)
      await its.reaches(['AA1AA'])
      await its.until(() => its.events('lines-not-processed').length === 1)
      await its.reaches(['AA1AA'])
    })
  })

  describe('closing', () => {
    it('ends every connection, plans nothing more, and may be told twice', async () => {
      await its.start(stationKeys(900))
      // An addition to the small connection: an overlap and a tidying are planned, and then another change.
      await its.change(stationKeys(920, 1))
      await its.ready()
      its.link.refilter()
      await its.link.close()
      await its.link.close()
      await its.server.until(() => its.server.clients().length === 0)
      its.link.refilter()
      // The chatter of the server is all that is planned.
      expect(its.clock.pending).to.equal(1)
      const { logins } = its.server.traffic
      await its.clock.advance(700_000)
      expect(its.server.traffic.logins).to.equal(logins)
      expect(states()).to.deep.equal(states().map(() => 'closed'))
    })

    it('closes only once the lines handed over before are settled', async () => {
      let settle = () => {}
      const receive = (lines: readonly string[]) => {
        its.take(lines)
        return new Promise<void>((resolve) => {
          settle = resolve
        })
      }
      await its.start(['AA1AA'], {}, {}, receive)
      its.send(['AA1AA'])
      await its.until(() => its.lines.length === 1)
      const order: string[] = []
      const closed = its.link.close().then(() => order.push('closed'))
      await its.server.until(() => its.server.clients().length === 0)
      await its.clock.advance(1000)
      order.push('settled')
      settle()
      await closed
      expect(order).to.deep.equal(['settled', 'closed'])
    })

    it('hands over no line afterwards', async () => {
      await its.start(['AA1AA'])
      its.network.hold()
      its.send(['AA1AA'])
      await its.clock.advance(0)
      const closed = its.link.close()
      its.network.release()
      await closed
      await its.clock.advance(0)
      expect(its.lines).to.deep.equal([])
    })
  })
})
