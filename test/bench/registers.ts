import { startPostgres } from '../../fixtures/demo/postgres.ts'
import { type LoadClient, requestText } from './api.ts'
import { type BuiltSidecar, startBuiltSidecar } from './built-sidecar.ts'
import type { LoadResult } from './http-load-client.ts'
import { beside, type Measurement, medians, untilSteady } from './measurement.ts'
import { startProgram } from './program.ts'
import { installedPostgres } from './several.ts'
import { claim, registerStations } from './stations.ts'
import { bareUpstream } from './upstream.ts'

/** With as many requests in each, these are nearly as many stations as two listeners can serve. */
const MOST_WINDOWS = 4
const CALLERS = 200
/** Number of requests for a window. It is more than a window can answer, so that none is sent twice. */
const REQUESTS = 8000
const WARM_UP_MS = 200
const WINDOW_MS = 900
/** Number of stations that register new tokens. */
const KNOWN = 500
const PEER = 'the same on SQLite, which asks no other process'

/**
 * Measures the registrations per second that change the database, from 200 phones at once, each with its own address.
 * PostgreSQL runs on the same machine and flushes its commits. `api.register.postgres` is for new stations, `….token`
 * for stations with a new push token each time, `….cpu` the sidecar's CPU time of one of them.
 */
export async function registersBench(): Promise<readonly Measurement[]> {
  const bin = installedPostgres()
  const postgres = await startPostgres({ durable: true, ...(bin !== undefined && { bin }) })
  const upstream = await bareUpstream()
  const client: LoadClient = await startProgram('http-load-client.ts')
  const sidecars: BuiltSidecar[] = []
  try {
    const [product, peer] = [await start(upstream.port, postgres.address), await start(upstream.port)]
    sidecars.push(product, peer)
    for (const sidecar of sidecars) await registerStations(sidecar, callsigns('K', KNOWN))
    return [
      ...(await rows('api.register.postgres', newStations, { ours: product, peer, client })),
      ...(await rows('api.register.postgres.token', newTokens, { ours: product, peer, client })),
    ]
  } finally {
    await client.close()
    for (const sidecar of sidecars) await sidecar.close()
    upstream.close()
    await postgres.stop()
  }
}

function start(upstreamPort: number, database?: string): Promise<BuiltSidecar> {
  return startBuiltSidecar({
    aprsis: { host: '127.0.0.1', port: upstreamPort, callsign: 'N0CALL', passcode: 13023 },
    rateLimit: { windowMs: 1000, max: 1_000_000_000, newStationsPerHour: 1_000_000, connectionsPerAddress: 10_000 },
    listen: { port: 0, trustProxy: true },
    stations: { max: KNOWN + MOST_WINDOWS * REQUESTS },
    ...(database !== undefined && { database }),
  })
}

interface RowParts {
  readonly ours: BuiltSidecar
  readonly peer: BuiltSidecar
  readonly client: LoadClient
}

type Bodies = (window: number) => readonly object[]

async function rows(name: string, bodies: Bodies, { ours, peer, client }: RowParts): Promise<readonly Measurement[]> {
  const numbered = (sidecar: BuiltSidecar) => {
    let window = 0
    return async () => {
      window += 1
      return await load(sidecar, client, bodies(window))
    }
  }
  const turns = await untilSteady(MOST_WINDOWS, 'perSecond', { ours: numbered(ours), peer: numbered(peer) })
  return [
    beside(`${name}.cpu`, 'µs CPU/request', medians(turns, 'cpuUs'), PEER, 'less'),
    beside(name, 'requests/s', medians(turns, 'perSecond'), PEER),
  ]
}

/** Sends registrations. Throws if a request was sent twice, because the second one has nothing to store. */
async function load({ url, pid }: BuiltSidecar, client: LoadClient, bodies: readonly object[]): Promise<LoadResult> {
  const result = await client.call('load', {
    port: Number(new URL(url).port),
    pid,
    requests: bodies.map((body, index) =>
      requestText('/v1/register', { 'X-Forwarded-For': `10.0.${index >> 8}.${index & 255}` }, body),
    ),
    connections: CALLERS,
    takesCursors: false,
    warmUpMs: WARM_UP_MS,
    durationMs: WINDOW_MS,
  })
  if (result.sent > bodies.length) throw new Error('Raise REQUESTS.')
  return result
}

function newStations(window: number): readonly object[] {
  return callsigns(`N${window}`, REQUESTS).map((callsign) => registration(callsign, `token-of-${callsign}`))
}

function newTokens(window: number): readonly object[] {
  const knownStations = callsigns('K', KNOWN)
  return Array.from({ length: REQUESTS }, (_, index) =>
    registration(knownStations[index % KNOWN] ?? '', `token-${index}-of-${window}`),
  )
}

function callsigns(start: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${start}X${index}`)
}

function registration(callsign: string, pushToken: string): object {
  return { ...claim(callsign), platform: 'android', pushToken, ackMessages: false }
}
