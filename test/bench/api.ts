import { buffer } from 'node:stream/consumers'
import { makeServerFiles, type ServerFiles } from '../support/server-files.ts'
import type { LoadOrder, LoadResult } from './http-load-client.ts'
import { type LoadedSidecar, startLoaded } from './loaded-sidecar.ts'
import { alone, beside, type Measurement, medians, untilSteady } from './measurement.ts'
import { createMessages, flow } from './message-flow.ts'
import { postJson } from './post-json.ts'
import { type Program, startProgram } from './program.ts'
import { claim } from './stations.ts'
import { bareUpstream } from './upstream.ts'

const STATIONS = 5000
/** Number of stations in the small file. For the comparison, as many stations of the large file send requests. */
const FEW = 100
const MESSAGES_EACH = 50
const MESSAGES_PER_SECOND = 1000
const CONNECTIONS = 64
const MOST_WINDOWS = 10
const WARM_UP_MS = 200
const WINDOW_MS = 800
/** Limit of the time in which all stations are asked once. It takes 3 s if the machine has nothing else to do. */
const ASK_ALL_MS = 60_000
const PEER = 'bare node:http, with the same messages coming: parses and looks up, checks and stores nothing'
const PEER_WITH_CURSORS = `${PEER}, and never has messages`
const PEER_WITH_TLS = PEER.replace('node:http', 'node:https')
/** A cursor older than every message, with as many digits as those of answers. */
export const FIRST_CURSOR = 1_000_000_000_000

export type LoadClient = Program<typeof import('./http-load-client.ts')>

/**
 * Age of the first cursors of `….cursors`, at the beginning of each window. Each station gets a message every 5 s, so
 * as many stations have a message after this cursor as after one of the window before.
 */
const CURSOR_AGE_MS = 1000

/** The API call that a row measures. */
interface Question {
  readonly name: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  body(callsign: string): object
  /** Whether a client sends the cursor of its last answer, so that most answers have no messages. */
  readonly takesCursors?: boolean
}

const SYNC: Question = {
  name: 'api.sync',
  path: '/v1/sync',
  headers: {},
  body: (callsign) => ({ ...claim(callsign), since: 0 }),
}

const QUESTIONS: readonly Question[] = [
  SYNC,
  { ...SYNC, name: 'api.sync.gzip', headers: { 'Accept-Encoding': 'gzip' } },
  {
    ...SYNC,
    name: 'api.sync.cursors',
    body: (callsign) => ({ ...claim(callsign), since: Date.now() - CURSOR_AGE_MS }),
    takesCursors: true,
  },
  { name: 'api.register', path: '/v1/register', headers: { 'Accept-Encoding': 'gzip' }, body: registration },
]

/**
 * Requests per second over 64 keep-alive connections while 1,000 messages a second arrive. `….p99` is the 99th
 * percentile of the response time, and `….cpu` the server's CPU time for one request. 100 of 5,000 stations send
 * requests and get their messages; a sync returns 50.
 *
 * - `….all`: all 5,000 stations in turn. Each was asked once before, so that its messages are in memory. Before that,
 *   a sync reads 50 rows from 50 pages of the file, which takes ten times the CPU time.
 * - `….cursors`: they continue from the server time of their last answer, as phones do.
 * - `….tls`: the sidecar serves TLS, and so does the peer.
 * - `….rows`: 100 stations, with 250,000 rows in the file instead of 5,000.
 *
 * `api.rss` is the resident memory after all rows, `….collected` the same after a garbage collection. By profile, an
 * empty sidecar has 82 MB, the index of 250,000 messages 21 MB, the encoded messages of 5,000 stations 37 MB and their
 * compressed copies 8 MB. The rest is garbage, and memory that V8 keeps for the next burst: 64 MB after a collection,
 * and up to 130 MB before it.
 *
 * The peer is Node's HTTP server in its own process. It parses the request, looks the station up, sends the same bytes,
 * and gets as many lines from upstream. It checks and stores nothing.
 */
export async function apiBench(): Promise<readonly Measurement[]> {
  const client: LoadClient = await startProgram('http-load-client.ts')
  try {
    return [...(await plainRows(client)), ...(await tlsRows(client))]
  } finally {
    await client.close()
  }
}

async function plainRows(client: LoadClient): Promise<readonly Measurement[]> {
  const small = await startLoaded({ stations: FEW, messagesEach: MESSAGES_EACH })
  const large = await startLoaded({ stations: STATIONS, messagesEach: MESSAGES_EACH })
  try {
    const rows: Measurement[] = []
    for (const question of QUESTIONS) {
      const { name, takesCursors } = question
      rows.push(
        ...rowsOf(name, takesCursors ? PEER_WITH_CURSORS : PEER, await answered(question, client, large, small)),
      )
    }
    rows.push(alone('api.rss', 'MB', large.sidecar.residentMegabytes()))
    rows.push(alone('api.rss.collected', 'MB', await large.sidecar.collectedMegabytes()))
    return rows
  } finally {
    await small.close()
    await large.close()
  }
}

async function tlsRows(client: LoadClient): Promise<readonly Measurement[]> {
  const tls = await makeServerFiles('bench')
  const large = await startLoaded({ stations: STATIONS, messagesEach: MESSAGES_EACH, tls })
  try {
    return rowsOf(`${SYNC.name}.tls`, PEER_WITH_TLS, await answered(SYNC, client, large, undefined, tls))
  } finally {
    await large.close()
    await tls.remove()
  }
}

async function answered(
  { name, path, headers, body, takesCursors = false }: Question,
  client: LoadClient,
  large: LoadedSidecar,
  small?: LoadedSidecar,
  tls?: ServerFiles,
): Promise<Results> {
  const bareSource = await bareUpstream()
  const bare = await startProgram<typeof import('./bare-http-server.ts')>('bare-http-server.ts')
  try {
    const first = body(large.stations[0] as string)
    const sampleBody = takesCursors ? { ...first, since: Date.now() } : first
    const sample = await answerTo(large.sidecar.url + path, headers, sampleBody, tls?.ca)
    const certificate = tls && { cert: tls.cert, key: tls.key }
    const order = { ...sample, stations: large.stations, upstreamPort: bareSource.port, certificate }
    const barePort = await bare.call('serve', order)
    await bareSource.client
    const requestsNow = (callers: number) => requestsOf({ path, headers, body }, large).slice(0, callers)
    const loadInTurn = (server: Pick<LoadOrder, 'port' | 'pid'>, callers: number) => {
      let first = 0
      return async () => {
        const requests = requestsNow(callers)
        const result = await loadFrom(client, { ...server, ca: tls?.ca, requests, takesCursors, first })
        first = result.next
        return result
      }
    }
    const loadWithMessages = (loaded: LoadedSidecar, callers: number) => {
      const load = loadInTurn(serverOf(loaded), callers)
      return () => withMessages(loaded, callers, load)
    }
    const loadBare = loadInTurn({ port: barePort, pid: bare.pid }, STATIONS)
    const sides = {
      ours: loadWithMessages(large, STATIONS),
      bare: () => {
        const messages = createMessages(large.stations)
        const coming = flow(MESSAGES_PER_SECOND, (count) => bareSource.send(messages(count)))
        return loadBare().finally(() => coming.stop())
      },
      large: loadWithMessages(large, FEW),
      ...(small && { small: loadWithMessages(small, FEW) }),
    }
    // First reads the messages of each station from the file, because these rows measure answers from memory. Windows
    // alone would not do this: at the rate of reading, one of them reaches a fifth of the stations.
    const all = { ...serverOf(large), ca: tls?.ca, requests: requestsNow(STATIONS), connections: CONNECTIONS }
    await client.call('askAll', { ...all, takesCursors }, ASK_ALL_MS)
    const results = { small: [], ...(await untilSteady(MOST_WINDOWS, 'perSecond', sides)) }
    if (!takesCursors) checkBytes(name, results)
    return results
  } finally {
    await bare.close()
    bareSource.close()
  }
}

function serverOf({ sidecar: { url, pid } }: LoadedSidecar) {
  return { port: Number(new URL(url).port), pid }
}

function requestsOf({ path, headers, body }: Omit<Question, 'name'>, { stations }: LoadedSidecar): readonly string[] {
  return stations.map((callsign) => requestText(path, headers, body(callsign)))
}

function loadFrom(
  client: LoadClient,
  order: Omit<LoadOrder, 'connections' | 'warmUpMs' | 'durationMs'>,
): Promise<LoadResult> {
  return client.call('load', { ...order, connections: CONNECTIONS, warmUpMs: WARM_UP_MS, durationMs: WINDOW_MS })
}

/** Loads a sidecar with syncs of the first `callers` stations, while messages for them arrive. */
export async function loadWithSyncs(loaded: LoadedSidecar, client: LoadClient, callers: number): Promise<LoadResult> {
  const requests = requestsOf(SYNC, loaded).slice(0, callers)
  const order = { ...serverOf(loaded), requests, takesCursors: false }
  return withMessages(loaded, callers, () => loadFrom(client, order))
}

/**
 * `ours`: all stations of the large file. `large`: a few of them. `small`: the small file; empty if a row does not
 * compare it.
 */
type Results = Readonly<Record<'ours' | 'bare' | 'large' | 'small', readonly LoadResult[]>>

function rowsOf(name: string, peerName: string, { ours, bare, large, small }: Results): readonly Measurement[] {
  const both = (row: string, turns: Readonly<Record<'ours' | 'peer', readonly LoadResult[]>>) => [
    beside(`${row}.cpu`, 'µs CPU/request', medians(turns, 'cpuUs'), peerName, 'less'),
    beside(row, 'requests/s', medians(turns, 'perSecond'), peerName),
    beside(`${row}.p99`, 'ms', medians(turns, 'p99Ms', 'perSecond'), peerName, 'less'),
  ]
  const rows = [...both(name, { ours: large, peer: bare }), ...both(`${name}.all`, { ours, peer: bare })]
  if (small.length === 0) return rows
  const less = 'the same with 5,000 rows, for which 100 stations are registered'
  const bySize = { ours: large, peer: small }
  return [
    ...rows,
    beside(`${name}.rows.cpu`, 'µs CPU/request', medians(bySize, 'cpuUs'), less, 'less'),
    beside(`${name}.rows`, 'requests/s', medians(bySize, 'perSecond'), less),
  ]
}

function checkBytes(name: string, { ours, bare }: Results): void {
  const bytes = medians({ ours, peer: bare }, 'answerBytes')
  if (Math.abs(bytes.ours - bytes.peer) > bytes.peer * 0.1)
    throw new Error(`${name}: the two sides do not send the same: ${bytes.ours} and ${bytes.peer} bytes`)
}

/** Runs `load` while messages arrive. Throws if one of the messages is not stored. */
async function withMessages(
  loaded: LoadedSidecar,
  toStations: number,
  load: () => Promise<LoadResult>,
): Promise<LoadResult> {
  const countBefore = await loaded.storedCount()
  const flow = loaded.flow(MESSAGES_PER_SECOND, toStations)
  const result = await load()
  const sent = flow.stop()
  if (sent < (MESSAGES_PER_SECOND * WINDOW_MS) / 1000) throw new Error(`Only ${sent} messages were sent.`)
  await loaded.stored(countBefore + sent)
  return result
}

/** Returns the same registration as {@link registerStations} sends, so that it changes nothing. */
function registration(callsign: string): object {
  const phone = { platform: 'android', pushToken: `token-of-${callsign}` }
  return { ...claim(callsign), ...phone, ackMessages: false, avatarHash: '' }
}

export function requestText(path: string, headers: Question['headers'], value: object): string {
  const body = JSON.stringify(value)
  const ownHeaders = { Host: '127.0.0.1', 'Content-Type': 'application/json', 'Content-Length': String(body.length) }
  const lines = Object.entries({ ...ownHeaders, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

/** Returns one answer as received, without the headers that Node.js adds to every answer. */
async function answerTo(url: string, headers: Question['headers'], body: object, ca: string | undefined) {
  const answer = await postJson(url, body, { headers, ca })
  const bytes = await buffer(answer)
  const { date, connection, 'keep-alive': keepAlive, ...apiHeaders } = answer.headers
  return { headers: apiHeaders as Record<string, string>, body: bytes.toString('base64') }
}
