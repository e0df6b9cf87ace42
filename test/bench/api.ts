import { type IncomingMessage, request } from 'node:http'
import { passcodeOf } from '../../sidecar/index.ts'
import type { BareAnswer } from './bare-http-server.ts'
import { type BuiltSidecar, counter, startBuiltSidecar } from './built-sidecar.ts'
import type { LoadOrder, LoadResult } from './http-load-client.ts'
import { type Measurement, median } from './measurement.ts'
import { type Program, startProgram } from './program.ts'
import { registerStations } from './stations.ts'
import { type BareUpstream, bareUpstream } from './upstream.ts'

const STATIONS = 100
const PER_STATION = 50
const MESSAGES_PER_SECOND = 1000
const CONNECTIONS = 64
const ROUNDS = 5
const WARM_UP_MS = 300
const ROUND_MS = 1500
const PEER = 'bare node:http'

/** One row's call. */
interface Question {
  readonly name: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  body(callsign: string): object
}

const QUESTIONS: readonly Question[] = [
  { name: 'api.sync', path: '/v1/sync', headers: {}, body: (callsign) => ({ ...claim(callsign), since: 0 }) },
  {
    name: 'api.sync.gzip',
    path: '/v1/sync',
    headers: { 'Accept-Encoding': 'gzip' },
    body: (callsign) => ({ ...claim(callsign), since: 0 }),
  },
  { name: 'api.register', path: '/v1/register', headers: { 'Accept-Encoding': 'gzip' }, body: registration },
]

/**
 * Requests per second under 64 keep-alive connections while 1,000 messages a second arrive, and how long the slowest hundredth of
 * them took; a sync brings 50 messages. The peer is Node's HTTP server in a process of its own, which sends the same bytes to the
 * same client, does nothing else, and is left alone by messages.
 */
export async function apiBench(): Promise<readonly Measurement[]> {
  const upstream = await bareUpstream()
  const sidecar = await startBuiltSidecar({
    aprsis: { host: '127.0.0.1', port: upstream.port, callsign: 'N0CALL', passcode: 13023, filterDebounceMs: 0 },
    rateLimit: { windowMs: 1000, max: 1_000_000_000, newStationsPerHour: 1_000_000 },
  })
  const client = await startProgram('http-load-client.ts')
  try {
    const stations = Array.from({ length: STATIONS }, (_, index) => `B${index + 100}X`)
    await registerStations(sidecar, stations)
    await upstream.client
    const air = messagesTo(stations, upstream)
    air.send(STATIONS * PER_STATION)
    await stored(sidecar, STATIONS * PER_STATION)
    const rows: Measurement[] = []
    for (const question of QUESTIONS) rows.push(...(await answered(question, { sidecar, client, stations, air })))
    return rows
  } finally {
    await client.close()
    await sidecar.close()
    upstream.close()
  }
}

interface Parts {
  readonly sidecar: BuiltSidecar
  readonly client: Program
  readonly stations: readonly string[]
  readonly air: Air
}

async function answered(
  question: Question,
  { sidecar, client, stations, air }: Parts,
): Promise<readonly Measurement[]> {
  const { name, path, headers, body } = question
  const port = Number(new URL(sidecar.url).port)
  const requests = stations.map((callsign) => requestText(path, headers, JSON.stringify(body(callsign))))
  const bare = await startProgram('bare-http-server.ts')
  try {
    const sample = await answerTo(sidecar.url + path, headers, body(stations[0] as string))
    const barePort = await bare.ask<number>(sample)
    const order = { requests, connections: CONNECTIONS, warmUpMs: WARM_UP_MS, durationMs: ROUND_MS }
    const ours: LoadResult[] = []
    const peer: LoadResult[] = []
    const sides = [
      async () => ours.push(await withMessages(sidecar, air, () => load(client, { ...order, port }))),
      async () => peer.push(await load(client, { ...order, port: barePort })),
    ]
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) await side()
    }
    return rowsOf(name, ours, peer)
  } finally {
    await bare.close()
  }
}

function rowsOf(name: string, ours: readonly LoadResult[], peer: readonly LoadResult[]): readonly Measurement[] {
  const [bytes, bareBytes] = [ours, peer].map((side) => median(side.map(({ answerBytes }) => answerBytes)))
  if (bytes === undefined || bareBytes === undefined || Math.abs(bytes - bareBytes) > bareBytes * 0.1)
    throw new Error(`${name}: the two sides do not send the same: ${bytes} and ${bareBytes} bytes`)
  const rate = (side: readonly LoadResult[]) => median(side.map(({ requestsPerSecond }) => requestsPerSecond))
  const slowest = (side: readonly LoadResult[]) => median(side.map(({ p99Ms }) => p99Ms))
  return [
    { name, unit: 'requests/s', ours: rate(ours), peer: rate(peer), peerName: PEER, ratio: rate(ours) / rate(peer) },
    {
      name: `${name}.p99`,
      unit: 'ms',
      ours: slowest(ours),
      peer: slowest(peer),
      peerName: PEER,
      ratio: slowest(peer) / slowest(ours),
    },
  ]
}

function load(client: Program, order: LoadOrder): Promise<LoadResult> {
  return client.ask<LoadResult>(order)
}

/** Throws when fewer messages were stored meanwhile than were to arrive. */
async function withMessages(sidecar: BuiltSidecar, air: Air, run: () => Promise<LoadResult>): Promise<LoadResult> {
  const before = await counter(sidecar, 'messages_stored')
  const flow = air.flow(MESSAGES_PER_SECOND)
  const result = await run()
  const sent = flow.stop()
  if (sent < (MESSAGES_PER_SECOND * ROUND_MS) / 1000) throw new Error(`Only ${sent} messages were sent.`)
  await stored(sidecar, before + sent)
  return result
}

/** Resolves once so many messages were stored since the start. */
async function stored(sidecar: BuiltSidecar, count: number): Promise<void> {
  const begun = performance.now()
  for (;;) {
    const now = await counter(sidecar, 'messages_stored')
    if (now >= count) return
    if (performance.now() - begun > 20_000) throw new Error(`lost messages: only ${now} of ${count} were stored`)
  }
}

interface Air {
  send(count: number): void
  /** Sends so many a second, as evenly as timers allow; `stop` says how many they were. */
  flow(perSecond: number): { stop(): number }
}

/** All different, to one station after the other. */
function messagesTo(stations: readonly string[], upstream: BareUpstream): Air {
  let index = 0
  function send(count: number): void {
    const lines: string[] = []
    for (const end = index + count; index < end; index += 1) {
      const station = stations[index % stations.length] as string
      const text = `Message number ${index}, as long as such texts commonly are, 73`
      lines.push(
        `K${index % 977}ABC-7>APRS,TCPIP*,qAC,T2TEST::${station.padEnd(9)}:${text}{${(index % 90_000) + 1}\r\n`,
      )
    }
    upstream.send(lines.join(''))
  }
  return {
    send,
    flow(perSecond) {
      const begun = performance.now()
      let sent = 0
      const timer = setInterval(() => {
        const due = Math.floor(((performance.now() - begun) / 1000) * perSecond) - sent
        if (due <= 0) return
        sent += due
        send(due)
      }, 1)
      return {
        stop() {
          clearInterval(timer)
          return sent
        },
      }
    },
  }
}

function claim(callsign: string) {
  return { callsign, ssid: 0, auth: passcodeOf(callsign) }
}

/** As {@link registerStations} registered it, so that nothing changes. */
function registration(callsign: string): object {
  return {
    ...claim(callsign),
    platform: 'android',
    pushToken: `token-of-${callsign}`,
    ackMessages: false,
    avatarHash: '',
  }
}

function requestText(path: string, headers: Question['headers'], body: string): string {
  const lines = Object.entries({
    Host: '127.0.0.1',
    'Content-Type': 'application/json',
    'Content-Length': String(body.length),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

/** One answer as it came over the wire, without the headers that Node adds to every answer. */
async function answerTo(url: string, headers: Question['headers'], body: object): Promise<BareAnswer> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers } }, resolve)
      .on('error', reject)
      .end(JSON.stringify(body))
  })
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk as Buffer)
  const { date, connection, 'keep-alive': keepAlive, ...own } = answer.headers
  return { headers: own as Record<string, string>, body: Buffer.concat(chunks).toString('base64') }
}
