import { type IncomingMessage, request } from 'node:http'
import type { BareAnswer } from './bare-http-server.ts'
import type { LoadOrder, LoadResult } from './http-load-client.ts'
import { claim, type LoadedSidecar, startLoaded } from './loaded-sidecar.ts'
import { type Measurement, median } from './measurement.ts'
import { type Program, startProgram } from './program.ts'

const STATIONS = 5000
/** In the small file, and of the large one those who call when the two are compared. */
const FEW = 100
const MESSAGES_EACH = 50
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

const SYNC: Question = {
  name: 'api.sync',
  path: '/v1/sync',
  headers: {},
  body: (callsign) => ({ ...claim(callsign), since: 0 }),
}

const QUESTIONS: readonly Question[] = [
  SYNC,
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
 * them took: 100 of 5,000 stations call and get the messages, a sync brings 50 of them. `….all`: all 5,000 call in turn. The peer is Node's HTTP server in a process of
 * its own, which sends the same bytes to the same client, does nothing else, and is left alone by messages.
 *
 * `….rows` says what the size of the file costs: 100 stations call and get the messages, with 250,000 rows in the file and with 5,000.
 */
export async function apiBench(): Promise<readonly Measurement[]> {
  const small = await startLoaded({ stations: FEW, messagesEach: MESSAGES_EACH })
  const large = await startLoaded({ stations: STATIONS, messagesEach: MESSAGES_EACH })
  const client = await startProgram('http-load-client.ts')
  try {
    const rows: Measurement[] = []
    for (const question of QUESTIONS) rows.push(...(await answered(question, small, large, client)))
    const megabytes = large.sidecar.residentMegabytes()
    rows.push({ name: 'api.rss', unit: 'MB', ours: megabytes, peer: null, peerName: null, ratio: null })
    return rows
  } finally {
    await client.close()
    await small.close()
    await large.close()
  }
}

async function answered(
  { name, path, headers, body }: Question,
  small: LoadedSidecar,
  large: LoadedSidecar,
  client: Program,
): Promise<readonly Measurement[]> {
  const requests = requestsOf({ path, headers, body }, large)
  const bare = await startProgram('bare-http-server.ts')
  try {
    const sample = await answerTo(large.sidecar.url + path, headers, body(large.stations[0] as string))
    const barePort = await bare.ask<number>(sample)
    const load = (port: number, callers: number) => loadFrom(client, port, requests.slice(0, callers))
    const loadWithMessages = (loaded: LoadedSidecar, callers: number) =>
      withMessages(loaded, callers, () => load(Number(new URL(loaded.sidecar.url).port), callers))
    const results: Results = { ours: [], bare: [], large: [], small: [] }
    const sides = [
      async () => results.ours.push(await loadWithMessages(large, STATIONS)),
      async () => results.bare.push(await load(barePort, STATIONS)),
      async () => results.large.push(await loadWithMessages(large, FEW)),
      async () => results.small.push(await loadWithMessages(small, FEW)),
    ]
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) await side()
    }
    checkBytes(name, results.ours, results.bare)
    return rowsOf(name, results)
  } finally {
    await bare.close()
  }
}

function requestsOf({ path, headers, body }: Omit<Question, 'name'>, { stations }: LoadedSidecar): readonly string[] {
  return stations.map((callsign) => requestText(path, headers, JSON.stringify(body(callsign))))
}

function loadFrom(client: Program, port: number, requests: readonly string[]): Promise<LoadResult> {
  const order = { requests, connections: CONNECTIONS, warmUpMs: WARM_UP_MS, durationMs: ROUND_MS, port }
  return client.ask<LoadResult>(order satisfies LoadOrder)
}

/** Syncs a second of the first `callers` stations, while messages for them arrive. */
export async function syncRate(loaded: LoadedSidecar, client: Program, callers: number): Promise<number> {
  const requests = requestsOf(SYNC, loaded).slice(0, callers)
  const port = Number(new URL(loaded.sidecar.url).port)
  return (await withMessages(loaded, callers, () => loadFrom(client, port, requests))).requestsPerSecond
}

type Results = Readonly<Record<'ours' | 'bare' | 'large' | 'small', LoadResult[]>>

function rowsOf(name: string, { ours, bare, large, small }: Results): readonly Measurement[] {
  const rate = (side: readonly LoadResult[]) => median(side.map(({ requestsPerSecond }) => requestsPerSecond))
  const slowest = (side: readonly LoadResult[]) => median(side.map(({ p99Ms }) => p99Ms))
  return [
    { name, unit: 'requests/s', ours: rate(large), peer: rate(bare), peerName: PEER, ratio: rate(large) / rate(bare) },
    {
      name: `${name}.p99`,
      unit: 'ms',
      ours: slowest(large),
      peer: slowest(bare),
      peerName: PEER,
      ratio: slowest(bare) / slowest(large),
    },
    {
      name: `${name}.all`,
      unit: 'requests/s',
      ours: rate(ours),
      peer: rate(bare),
      peerName: PEER,
      ratio: rate(ours) / rate(bare),
    },
    {
      name: `${name}.rows`,
      unit: 'requests/s',
      ours: rate(large),
      peer: rate(small),
      peerName: 'the same with 5,000 rows',
      ratio: rate(large) / rate(small),
    },
  ]
}

function checkBytes(name: string, ours: readonly LoadResult[], peer: readonly LoadResult[]): void {
  const [bytes, bareBytes] = [ours, peer].map((side) => median(side.map(({ answerBytes }) => answerBytes)))
  if (bytes === undefined || bareBytes === undefined || Math.abs(bytes - bareBytes) > bareBytes * 0.1)
    throw new Error(`${name}: the two sides do not send the same: ${bytes} and ${bareBytes} bytes`)
}

/** Throws when fewer messages were stored meanwhile than were to arrive. */
async function withMessages(
  loaded: LoadedSidecar,
  toStations: number,
  load: () => Promise<LoadResult>,
): Promise<LoadResult> {
  const before = await loaded.storedCount()
  const flow = loaded.flow(MESSAGES_PER_SECOND, toStations)
  const result = await load()
  const sent = flow.stop()
  if (sent < (MESSAGES_PER_SECOND * ROUND_MS) / 1000) throw new Error(`Only ${sent} messages were sent.`)
  await loaded.stored(before + sent)
  return result
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
