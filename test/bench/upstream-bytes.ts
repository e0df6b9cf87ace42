import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { type AprsIsServer, startAprsIs } from '../../fixtures/aprsis/server.ts'
import { type BuiltSidecar, counter, startBuiltSidecar } from './built-sidecar.ts'
import { beside, type Measurement } from './measurement.ts'
import { registerStations } from './stations.ts'

const STATIONS = Array.from({ length: 5000 }, (_, index) => `B${index + 1000}X`)
const MESSAGES = 20_000
/** One of this many messages is addressed to a registered station. */
const OURS_IN = 100
const ASK_EVERY_MS = 200
const PEER = 'one connection that takes all messages, has no filter to change and stores none'

/**
 * Measures how many bytes the filter saves, at a server with the measured limits of APRS-IS. It counts the bytes in
 * both directions, from the first login through all registrations to the end of 20,000 messages. 200 of them are for
 * the stations. The peer is the simplest client that misses none: one connection with a filter for all messages. One
 * round suffices, because nothing is timed.
 */
export async function upstreamBytesBench(): Promise<Measurement> {
  return beside('upstream.bytes', 'bytes', { ours: await ours(), peer: await everything() }, PEER, 'less')
}

async function ours(): Promise<number> {
  const server = await startAprsIs()
  const sidecar = await startBuiltSidecar({
    aprsis: { host: server.host, port: server.port, callsign: 'N0CALL', passcode: 13023, filterDebounceMs: 500 },
    rateLimit: { max: 1_000_000, newStationsPerHour: 1_000_000 },
  })
  try {
    await registerStations(sidecar, STATIONS)
    await server.until(() => areAskedFor(server), 30_000)
    await deliver(server, sidecar)
    return server.traffic.bytesIn + server.traffic.bytesOut
  } finally {
    await sidecar.close()
    await server.close()
  }
}

async function everything(): Promise<number> {
  const server = await startAprsIs()
  const socket = connect(server.port, server.host).resume()
  try {
    await once(socket, 'connect')
    socket.write('user N0CALL pass 13023 vers bench 1 filter g/*\r\n')
    await server.until(() => server.clients().length === 1)
    await deliver(server)
    return server.traffic.bytesIn + server.traffic.bytesOut
  } finally {
    socket.destroy()
    await server.close()
  }
}

/**
 * Sends the messages in steps, so that the server does not drop a slow client. With a sidecar, it waits until the
 * messages are stored.
 */
async function deliver(server: AprsIsServer, sidecar?: BuiltSidecar): Promise<void> {
  for (let index = 0; index < MESSAGES; index += 1) {
    const turn = Math.floor(index / OURS_IN)
    const addressee = index % OURS_IN === 0 ? (STATIONS[turn % STATIONS.length] as string) : `X${index % 9000}Y`
    server.inject(
      `K${index % 977}ABC-7>APRS,TCPIP*::${addressee.padEnd(9)}:Message number ${index}, as long as such texts commonly are{${index % 90_000}`,
    )
    if (index % 200 === 199) await new Promise((resolve) => setImmediate(resolve))
  }
  const wanted = MESSAGES / OURS_IN
  const begun = performance.now()
  while (sidecar && (await counter(sidecar, 'messages_stored')) < wanted) {
    if (performance.now() - begun > 20_000) throw new Error('lost messages')
    await pause(ASK_EVERY_MS)
  }
}

function areAskedFor(server: AprsIsServer): boolean {
  const filterTerms = new Set(server.clients().flatMap(({ filter }) => filter.split(/[ /]/)))
  return STATIONS.every((station) => filterTerms.has(station))
}
