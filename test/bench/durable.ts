import type { Socket } from 'node:net'
import { passcodeOf } from '../../sidecar/index.ts'
import { type BuiltSidecar, counter, startBuiltSidecar } from './built-sidecar.ts'
import { type Measurement, median } from './measurement.ts'
import { type BareUpstream, bareUpstream } from './upstream.ts'

const MESSAGES = 10_000
const STATIONS = 100
const ROUNDS = 5
const LONE_MESSAGES = 200

/**
 * From the APRS-IS socket to a durable row, in the built sidecar: a burst to many stations until the last one is stored, and a lone
 * message until its ack comes back, which is sent only once the row is durable. Throws when a message is lost.
 */
export async function durableBench(): Promise<readonly Measurement[]> {
  const rates: number[] = []
  const waits: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const upstream = await bareUpstream()
    const sidecar = await startBuiltSidecar({
      aprsis: { host: '127.0.0.1', port: upstream.port, callsign: 'N0CALL', passcode: 13023, filterDebounceMs: 0 },
      rateLimit: { max: 1_000_000, newStationsPerHour: 1_000_000 },
    })
    const stations = Array.from({ length: STATIONS }, (_, index) => `B${index + 100}X`)
    for (const callsign of stations) await register(sidecar, callsign)
    const socket = await upstream.client
    rates.push(await burst(sidecar, socket, stations, round))
    waits.push(await loneMessage(upstream, socket, stations[0] as string))
    await sidecar.close()
    upstream.close()
  }
  const alone = { peer: null, peerName: null, ratio: null }
  return [
    { name: 'pipeline.durable', unit: 'messages/s', ours: median(rates), ...alone },
    { name: 'pipeline.lone', unit: 'ms', ours: median(waits), ...alone },
  ]
}

async function register({ url }: BuiltSidecar, callsign: string): Promise<void> {
  const response = await fetch(`${url}/v1/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      callsign,
      ssid: 0,
      auth: passcodeOf(callsign),
      platform: 'android',
      pushToken: `token-of-${callsign}`,
      // Only one station acknowledges, so that acks do not count in the burst.
      ackMessages: callsign === 'B100X',
    }),
  })
  if (response.status !== 200) throw new Error(`register: ${response.status} ${await response.text()}`)
}

async function burst(
  sidecar: BuiltSidecar,
  socket: Socket,
  stations: readonly string[],
  round: number,
): Promise<number> {
  const receivers = stations.slice(1)
  const lines = Array.from({ length: MESSAGES }, (_, index) => {
    const station = receivers[index % receivers.length] as string
    return `K${index % 977}ABC-7>APRS,TCPIP*,qAC,T2TEST::${station.padEnd(9)}:Round ${round}, message number ${index}{${(index % 90_000) + 1}\r\n`
  })
  const bytes = Buffer.from(lines.join(''))
  const begun = performance.now()
  socket.write(bytes)
  for (;;) {
    const stored = await counter(sidecar, 'messages_stored')
    if (stored >= MESSAGES) return MESSAGES / ((performance.now() - begun) / 1000)
    if (performance.now() - begun > 60_000) throw new Error(`lost messages: only ${stored} of ${MESSAGES} were stored`)
  }
}

async function loneMessage(upstream: BareUpstream, socket: Socket, station: string): Promise<number> {
  const waits: number[] = []
  let acked: (line: string) => void = () => undefined
  upstream.onLine((line) => acked(line))
  for (let index = 0; index < LONE_MESSAGES; index += 1) {
    const ack = new Promise<string>((resolve) => {
      acked = resolve
    })
    const begun = performance.now()
    socket.write(`L${index}ABC>APRS,TCPIP*,qAC,T2TEST::${station.padEnd(9)}:Alone ${index}{${index + 1}\r\n`)
    await ack
    waits.push(performance.now() - begun)
  }
  return median(waits)
}
