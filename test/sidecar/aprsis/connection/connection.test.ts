import dns, { type LookupAddress } from 'node:dns'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { expect } from 'chai'
import { passcodeOf } from '../../../../fixtures/aprsis/passcode.ts'
import { type AprsIsServer, startAprsIs } from '../../../../fixtures/aprsis/server.ts'
import {
  type Connection,
  type ConnectionOptions,
  openConnection,
} from '../../../../sidecar/aprsis/connection/connection.ts'
import { createMetrics } from '../../../../sidecar/metrics.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

describe('A connection to APRS-IS', () => {
  let clock: FakeClock
  let server: AprsIsServer
  let connection: Connection
  let lines: string[]
  let reasons: unknown[]
  let changed: () => void

  beforeEach(async () => {
    clock = new FakeClock()
    server = await startAprsIs({ clock })
    lines = []
    reasons = []
    changed = () => {}
  })
  afterEach(async () => {
    await connection.close()
    await server.close()
  })

  function open(options: Partial<ConnectionOptions> = {}): void {
    const log = { debug: () => {}, info: () => {}, error: () => {} }
    connection = openConnection({
      host: '127.0.0.1',
      port: server.port,
      call: 'N0CALL',
      passcode: passcodeOf('N0CALL'),
      filter: 'g/AA1AA',
      clock,
      log: { ...log, warn: (_event, _msg, fields) => reasons.push(fields?.reason) },
      metrics: createMetrics(),
      random: () => 0,
      mayLogIn: () => true,
      avoids: () => false,
      hasSuccessor: () => false,
      onLines: (received) => {
        lines.push(...received)
        changed()
      },
      onChange: () => changed(),
      ...options,
    })
  }

  async function until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      await new Promise<void>((resolve) => {
        changed = resolve
      })
    }
  }
  const inState = (state: string) => until(() => connection.status().state === state)

  it('reads everything that the server sent before it leaves', async () => {
    open()
    await inState('up')
    for (let count = 0; count < 2000; count++) server.inject(`BB1BB>APRS,TCPIP*,qAC,X::AA1AA    :message ${count}`)
    // Written to the kernel by now, and not read: that needs another turn of the event loop.
    await new Promise<void>((resolve) => process.nextTick(resolve))
    connection.leave()
    expect(lines).to.have.length(0)
    await inState('closed')
    expect(lines).to.have.length(2000)
  })

  it('does not come back after it left, and closes at once when it was not logged in', async () => {
    open()
    await inState('up')
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

  it('waits 5 s at most for the server to take leave', async () => {
    open()
    await inState('up')
    server.stall()
    connection.leave()
    await clock.advance(4999)
    expect(connection.status().state).to.equal('leaving')
    await clock.advance(1)
    expect(connection.status().state).to.equal('closed')
  })

  it('does not leave with anything unread while reading is paused', async () => {
    open()
    await inState('up')
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

  it('tells once that it leaves a server, though it comes back to it at each try', async () => {
    const told: unknown[] = []
    const quiet = { debug: () => {}, warn: () => {}, error: () => {} }
    const info = (event: string, _msg: string, fields?: object) => void told.push([event, fields])
    open({ avoids: () => true, log: { ...quiet, info } })
    await inState('up')
    expect(server.traffic.logins).to.equal(4)
    const { server: name, call } = connection.status()
    expect(told).to.have.length(2)
    expect(told[0]).to.deep.equal(['upstream-moves', { call, server: name, moves: 1 }])
  })

  it('closes while it waits for the next try, and twice', async () => {
    server.refuseLogins = true
    open()
    await inState('waiting')
    await connection.close()
    await connection.close()
    await clock.advance(60_000)
    expect(server.traffic.connections).to.equal(1)
  })

  it('goes on after a name that cannot be resolved, looking it up again at each try', async () => {
    open({ host: 'nowhere.invalid' })
    await inState('waiting')
    expect(reasons[0]).to.match(/ENOTFOUND|EAI_AGAIN/)
    await clock.advance(1000)
    await until(() => connection.status().state === 'waiting' && connection.status().sinceMs === clock.now())
  })

  it('gives up a connection that is not established within 10 s', async () => {
    const { listener, fillers } = await fullListener()
    const { port } = listener.address() as { port: number }
    open({ port })
    await clock.advance(10_000)
    expect(connection.status().state).to.equal('waiting')
    expect(reasons[0]).to.equal('no connection within 10 s')
    for (const filler of fillers) filler.destroy()
    listener.close()
  })

  it('gives each address of a name more than the round trip of a slow line, whatever the next one is', async () => {
    const { listener, fillers } = await fullListener()
    const { port } = listener.address() as { port: number }
    listener.on('connection', (socket) => {
      fillers.push(socket)
      socket.once('data', () => socket.write('# logresp N0CALL verified, server T2SLOW\r\n'))
    })
    // The kernel drops the first packet to it and takes the next one, a second later; nobody listens at the other address.
    const addresses = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }))
    const { lookup } = dns
    const lookUp = (_name: string, _options: object, found: (error: null, all: LookupAddress[]) => void) =>
      process.nextTick(found, null, addresses)
    try {
      Object.assign(dns, { lookup: lookUp })
      open({ host: 'two.test', port })
      Object.assign(dns, { lookup })
      await until(() => ['up', 'waiting'].includes(connection.status().state))
      expect(reasons).to.deep.equal([])
      expect(connection.server).to.equal('T2SLOW')
    } finally {
      Object.assign(dns, { lookup })
      for (const filler of fillers) filler.destroy()
      listener.close()
    }
  })

  it('closes at once while the connection is not established', async () => {
    const { listener, fillers } = await fullListener()
    const { port } = listener.address() as { port: number }
    open({ port })
    let closed = false
    const closing = connection.close().then(() => {
      closed = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect(closed).to.equal(true)
    await closing
    for (const filler of fillers) filler.destroy()
    listener.close()
  })

  it('logs in while reading is paused, and reads no further', async () => {
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

  it('delivers what it accepted before it closes, if the server reads on', async () => {
    open()
    await inState('up')
    server.stall()
    let sent = 0
    while (connection.send(`N0CALL>APRS,TCPIP*:>${String(sent).padEnd(480, 'x')}`)) sent += 1
    const closed = connection.close()
    server.resume()
    await closed
    await server.until(() => server.received.at(-1)?.line.startsWith(`N0CALL>APRS,TCPIP*:>${sent - 1}x`) === true)
  })

  it('accepts nothing once it closes, and delivers what it accepted before', async () => {
    open()
    await inState('up')
    expect(connection.send('N0CALL>APRS,TCPIP*:>in time')).to.equal(true)
    const closed = connection.close()
    expect(connection.send('N0CALL>APRS,TCPIP*:>late')).to.equal(false)
    await closed
    await server.waitFor(({ line }) => line === 'N0CALL>APRS,TCPIP*:>in time')
  })

  it('asks one filter at a time, and of those that wait only for the newest', async () => {
    open()
    await inState('up')
    const asked: string[] = []
    server.events.on('filter', (_client, { text }) => asked.push(text))
    for (const filter of ['g/BB1BB', 'g/CC1CC', 'g/DD1DD']) connection.setFilter(filter)
    await inState('up')
    expect(asked).to.deep.equal(['g/BB1BB', 'g/DD1DD'])
  })

  it('logs in with the newest filter', async () => {
    open()
    await inState('up')
    connection.setFilter('g/BB1BB')
    await inState('up')
    server.dropAll()
    await inState('waiting')
    await clock.advance(1000)
    await inState('up')
    expect(server.clients()[0]?.filter).to.equal('g/BB1BB')
  })

  it('counts bytes over all its logins', async () => {
    open()
    await inState('up')
    const first = connection.status()
    expect(first.bytesOut).to.equal(server.traffic.bytesIn)
    server.dropAll()
    await inState('waiting')
    await clock.advance(1000)
    await inState('up')
    expect(connection.status().bytesOut).to.equal(2 * first.bytesOut)
    expect(connection.status().bytesIn).to.be.above(first.bytesIn)
  })

  it('takes a confirmation of another filter for none', async () => {
    open()
    await inState('up')
    server.silentFilters = true
    connection.setFilter('g/BB1BB')
    server.say('# filter g/AA1AA active')
    server.inject('BB1BB>APRS,TCPIP*,qAC,X::AA1AA    :after it')
    await until(() => lines.length === 1)
    expect(connection.status().state).to.equal('confirming')
    server.say('# filter g/BB1BB active')
    await inState('up')
  })
})

/** A port that leaves new connections waiting for a second: the kernel drops what goes beyond the backlog. */
async function fullListener(): Promise<{ listener: Server; fillers: Socket[] }> {
  const listener = createServer()
  await new Promise<void>((resolve) => {
    listener.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, resolve)
  })
  const { port } = listener.address() as { port: number }
  return { listener, fillers: Array.from({ length: 8 }, () => connect(port, '127.0.0.1')) }
}
