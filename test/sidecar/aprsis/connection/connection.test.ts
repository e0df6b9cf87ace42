import dns, { type LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import { passcodeOf } from '../../../../fixtures/aprsis/passcode.ts'
import { type AprsIsServer, startAprsIs } from '../../../../fixtures/aprsis/server.ts'
import { connectTcp } from '../../../../sidecar/aprsis/connection/connect-tcp.ts'
import { Connection, type ConnectionParts } from '../../../../sidecar/aprsis/connection/connection.ts'
import { createMetrics } from '../../../../sidecar/metrics.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { MemoryNetwork } from '../../../support/memory-network.ts'
import { recordedLog } from '../../../support/recorded-log.ts'

const FLOOD_LINES = 5_000_000

/** A server in a thread of its own, which writes while we read: short lines, as fast as they are taken. */
const FLOODER = `
const { createServer } = require('node:net')
const { parentPort } = require('node:worker_threads')
const lines = 'x\\n'.repeat(500_000)
const server = createServer((socket) => {
  socket.on('error', () => {})
  socket.once('data', () => {
    socket.write('# logresp N0CALL verified, server T2FLOOD\\r\\n')
    const flood = () => {
      while (socket.writable && socket.write(lines));
    }
    socket.on('drain', flood)
    flood()
  })
}).listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`

describe('A connection to APRS-IS', () => {
  let clock: FakeClock
  let network: MemoryNetwork
  let server: AprsIsServer
  let connection: Connection
  let lines: string[]
  let changed: () => void
  const { log, shown, of: events } = recordedLog('info')
  const reasons = () => events('upstream-down').map(({ reason }) => reason)

  beforeEach(async () => {
    clock = new FakeClock()
    network = new MemoryNetwork()
    server = await startAprsIs({ clock, listen: network.listen })
    lines = []
    changed = () => {}
  })
  afterEach(async () => {
    await connection.close()
    await server.close()
  })

  function open(options: Partial<ConnectionParts> = {}): void {
    connection = new Connection({
      connect: network.connect,
      host: 'aprsis.test',
      port: server.port,
      callsign: 'N0CALL',
      passcode: passcodeOf('N0CALL'),
      filter: 'g/AA1AA',
      clock,
      log,
      metrics: createMetrics(),
      random: () => 0,
      mayLogIn: () => true,
      avoids: () => false,
      isSilent: () => false,
      onFilterAnswer: () => {},
      hasSuccessor: () => false,
      lines: {
        take: (received) => {
          lines.push(...received)
          changed()
        },
      },
      onChange: () => changed(),
      ...options,
    })
    connection.open()
  }

  async function until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      await new Promise<void>((resolve) => {
        changed = resolve
      })
    }
  }
  const inState = (state: string) => until(() => connection.status().state === state)

  async function openUp(options?: Partial<ConnectionParts>): Promise<void> {
    open(options)
    await inState('up')
  }

  it('leave() prevents reconnects; a connection that is not logged in closes at once', async () => {
    await openUp()
    connection.leave()
    connection.leave()
    await inState('closed')
    await clock.advance(120_000)
    expect(server.traffic.logins).to.equal(1)
    open()
    connection.leave()
    expect(connection.status().state).to.equal('closed')
    await connection.close()
  })

  it('leaving APRS-IS waits at most 5 s for the server to close the connection', async () => {
    await openUp()
    server.stall()
    connection.leave()
    await clock.advance(4999)
    expect(connection.status().state).to.equal('leaving')
    await clock.advance(1)
    expect(connection.status().state).to.equal('closed')
  })

  it('leaving APRS-IS while reading is paused waits until all received lines are read', async () => {
    await openUp()
    connection.pause()
    server.inject('BB1BB>APRS,TCPIP*,qAC,X::AA1AA    :late')
    await new Promise<void>((resolve) => process.nextTick(resolve))
    connection.leave()
    await clock.advance(60_000)
    expect(connection.status().state).to.equal('leaving')
    connection.resume()
    await inState('closed')
    expect(lines).to.have.length(1)
  })

  it('logs only the first attempt to reach another server if all attempts fail', async () => {
    await openUp({ avoids: () => true })
    expect(server.traffic.logins).to.equal(4)
    expect(shown('event', 'call', 'server', 'moves')).to.deep.equal([
      ['upstream-moves', 'N0CALL', 'T2FIX', 1],
      ['upstream-login', 'N0CALL', 'T2FIX', undefined],
    ])
  })

  it('closing a connection ends its wait to reconnect, and is idempotent', async () => {
    server.refuseLogins = true
    open()
    await inState('waiting')
    await connection.close()
    await connection.close()
    await clock.advance(60_000)
    expect(server.traffic.connections).to.equal(1)
  })

  // Shows: sidecar C7.12.
  it('gives up a connection attempt to APRS-IS after 10 s', async () => {
    network.hold()
    open()
    await clock.advance(9999)
    expect(connection.status().state).to.equal('connecting')
    await clock.advance(1)
    expect(connection.status().state).to.equal('waiting')
    expect(reasons()[0]).to.equal('no connection within 10 s')
  })

  it('a connection does not log in if another process may be using its callsign', async () => {
    let mayLogIn = true
    network.hold()
    open({ mayLogIn: () => mayLogIn })
    mayLogIn = false
    network.release()
    await inState('waiting')
    expect(reasons()[0]).to.equal('its callsign may be in use elsewhere')
    expect(server.traffic.logins).to.equal(0)
  })

  it('closing a connection aborts a pending attempt to connect', async () => {
    network.hold()
    open()
    await connection.close()
  })

  it('a connection logs in while reading is paused, but delivers no lines', async () => {
    open()
    connection.pause()
    await inState('up')
    server.dropAll()
    connection.resume()
    await inState('waiting')
    connection.pause()
    await clock.advance(1000)
    await inState('up')
    server.inject('BB1BB>APRS,TCPIP*,qAC,X::AA1AA    :waits')
    await clock.advance(200_000)
    expect(lines).to.deep.equal([])
    expect(connection.status().state).to.equal('up')
    connection.resume()
    await until(() => lines.length === 1)
  })

  it('sends one #filter line at a time; of the waiting filters only the newest', async () => {
    await openUp()
    const requests: string[] = []
    server.events.on('filter', (_client, { text }) => requests.push(text))
    for (const filter of ['g/BB1BB', 'g/CC1CC', 'g/DD1DD']) connection.setFilter(filter)
    await inState('up')
    expect(requests).to.deep.equal(['g/BB1BB', 'g/DD1DD'])
  })

  it('the byte counts of a connection continue across reconnects', async () => {
    await openUp()
    const first = connection.status()
    expect(first.bytesOut).to.equal(server.traffic.bytesIn)
    server.dropAll()
    await inState('waiting')
    await clock.advance(1000)
    await inState('up')
    expect(connection.status().bytesOut).to.equal(2 * first.bytesOut)
    expect(connection.status().bytesIn).to.be.above(first.bytesIn)
  })

  // Shows: sidecar C7.8.
  it('ignores the late confirmation of an earlier filter', async () => {
    await openUp()
    server.filterHabit = 'silent'
    connection.setFilter('g/BB1BB')
    server.say('# filter g/AA1AA active')
    server.inject('BB1BB>APRS,TCPIP*,qAC,X::AA1AA    :after it')
    await until(() => lines.length === 1)
    expect(connection.status().state).to.equal('confirming')
    server.say('# filter g/BB1BB active')
    await inState('up')
  })

  describe('A connection to APRS-IS over TCP', () => {
    const { lookup } = dns

    beforeEach(async () => {
      server = await startAprsIs({ clock })
    })
    afterEach(() => {
      Object.assign(dns, { lookup })
    })

    const TCP = { connect: connectTcp, host: '127.0.0.1' }

    /** Names are looked up by `answer`. */
    function lookUpBy(answer: (match: (error: Error | null, all?: LookupAddress[]) => void) => void): void {
      Object.assign(dns, {
        lookup: (_name: string, _options: object, match: Parameters<typeof answer>[0]) =>
          process.nextTick(answer, match),
      })
    }

    it('over TCP, leave() delivers all lines that the server sent before the call', async () => {
      await openUp(TCP)
      for (let count = 0; count < 2000; count++) server.inject(`BB1BB>APRS,TCPIP*,qAC,X::AA1AA    :message ${count}`)
      // The kernel has the lines by now. Nothing is read yet, because that needs another turn of the event loop.
      await new Promise<void>((resolve) => process.nextTick(resolve))
      connection.leave()
      expect(lines).to.have.length(0)
      await inState('closed')
      expect(lines).to.have.length(2000)
    })

    it('close() sends all accepted lines over TCP if the server resumes reading', async () => {
      await openUp(TCP)
      server.stall()
      let sent = 0
      while (connection.send(`N0CALL>APRS,TCPIP*:>${String(sent).padEnd(480, 'x')}`)) sent += 1
      const closed = connection.close()
      server.resume()
      await closed
      await server.until(() => server.received.at(-1)?.line.startsWith(`N0CALL>APRS,TCPIP*:>${sent - 1}x`) === true)
    })

    it('yields to the event loop after each read during a flood of short lines', async () => {
      const flooder = new Worker(FLOODER, { eval: true })
      const [port] = await once(flooder, 'message')
      let received = 0
      let inThisTurn = 0
      let mostInATurn = 0
      const take = (flood: readonly string[]) => {
        inThisTurn += flood.length
      }
      open({ ...TCP, port, lines: { take } })
      while (received < FLOOD_LINES) {
        await new Promise((resolve) => setImmediate(resolve))
        mostInATurn = Math.max(mostInATurn, inThisTurn)
        received += inThisTurn
        inThisTurn = 0
      }
      await connection.close()
      await flooder.terminate()
      // A read has at most 64 KB, and a chunk that the stream kept while it was paused may come with the next read.
      // Without the pause, a turn has 32 reads.
      expect(mostInATurn).to.be.at.most(2 * 32_768)
    })

    // Shows: sidecar C7.16.
    it("retries with a new lookup if the server's host name cannot be resolved", async () => {
      let looked = 0
      lookUpBy((match) => {
        looked += 1
        match(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }))
      })
      open({ ...TCP, host: 'nowhere.test' })
      await inState('waiting')
      expect(reasons()[0]).to.equal('ENOTFOUND')
      await clock.advance(1000)
      await until(() => connection.status().state === 'waiting' && connection.status().sinceMs === clock.now())
      expect(looked).to.equal(2)
    })

    it('waits for a slow connection to one IP address before trying the next address', async () => {
      // The kernel drops connection attempts beyond the backlog, and accepts their retry a second later.
      const listener = createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 })
      await once(listener, 'listening')
      const { port } = listener.address() as { port: number }
      const sockets: Socket[] = Array.from({ length: 8 }, () => connect(port, '127.0.0.1'))
      listener.on('connection', (socket) => {
        sockets.push(socket)
        socket.once('data', () => socket.write('# logresp N0CALL verified, server T2SLOW\r\n'))
      })
      // No server listens at the other address.
      const addresses = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }))
      lookUpBy((match) => match(null, addresses))
      try {
        open({ ...TCP, host: 'two.test', port })
        await until(() => ['up', 'waiting'].includes(connection.status().state))
        expect(reasons()).to.deep.equal([])
        expect(connection.server).to.equal('T2SLOW')
      } finally {
        for (const socket of sockets) socket.destroy()
        listener.close()
      }
    })
  })
})
