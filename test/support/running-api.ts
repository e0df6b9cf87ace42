import { type IncomingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { serveApi } from '../../sidecar/api/server.ts'
import { passcodeOf } from '../../sidecar/aprs/passcode.ts'
import type { AckRecord, RegisterBody } from '../../sidecar/client/index.ts'
import type { ListenSettings, RateLimitSettings } from '../../sidecar/config/settings.ts'
import { createLog, type Log } from '../../sidecar/log.ts'
import type { Store, StoreSettings } from '../../sidecar/messages/store.ts'
import { createMetrics } from '../../sidecar/metrics.ts'
import { openSqliteStore } from '../../sidecar/store/sqlite/open-sqlite.ts'
import { expectDocumented } from './api-document.ts'
import { FakeClock } from './fake-clock.ts'

export interface ApiOptions {
  readonly listen?: Partial<ListenSettings>
  readonly rateLimit?: Partial<RateLimitSettings>
  readonly maxStations?: number
  readonly isReserved?: (key: string) => boolean
  /** The API's Web Push settings. Default: public push services only, and no key. */
  readonly webPush?: { readonly allowPrivate: boolean; readonly publicKey?: string }
  /** A store and its clock, instead of a new store in memory. The store is closed with the API. */
  readonly over?: { readonly store: Store; readonly clock: FakeClock }
}

/** Every member that an answer of the API can have. A test reads only those that it expects. */
export interface JsonBody {
  readonly error: string
  readonly message: string
  readonly details: readonly { readonly path: string; readonly reason: string }[]
  readonly serverTime: number
  readonly avatarHash: string
  readonly avatars: Readonly<Record<string, unknown>>
  readonly messages: readonly Readonly<Record<string, unknown>>[]
  readonly acks?: readonly AckRecord[]
  readonly truncated?: true
}

export interface ApiAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The bytes of the body, as received. */
  readonly bytes: Buffer
  /** Undefined if the answer is compressed. */
  readonly body: JsonBody
}

/** The API on a free port, with a store in memory and a clock that the test controls. */
export type RunningApi = Awaited<ReturnType<typeof startApi>>

export async function startApi(options: ApiOptions = {}) {
  const { listen, rateLimit, maxStations = 100, isReserved = () => false, webPush = { allowPrivate: false } } = options
  const clock = options.over?.clock ?? new FakeClock()
  const logged: Record<string, unknown>[] = []
  const log: Log = createLog('debug', { write: (line) => void logged.push(JSON.parse(line)) })
  const metrics = createMetrics()
  const limits = {
    windowMs: 60_000,
    max: 10_000,
    newStationsPerHour: 10_000,
    connectionsPerAddress: 10_000,
    ...rateLimit,
  }
  const settings: StoreSettings = {
    history: { perStation: 50, duplicateMinutes: 120, duplicateSecondsUnnumbered: 30 },
    stations: { max: maxStations, expireAfterHours: 720 },
    ack: { minIntervalMs: 31_000, maxPerSenderPerMinute: 10 },
    push: { coalesceMs: 2000 },
    rateLimit: limits,
    instance: 'here',
  }
  const store = options.over?.store ?? (await openSqliteStore(':memory:', settings, clock, log))
  const api = await serveApi({
    listen: { host: '127.0.0.1', port: 0, certFile: null, keyFile: null, trustProxy: false, ...listen },
    rateLimit: limits,
    webPush,
    store,
    isReserved,
    clock,
    metrics,
    log,
  })
  const port = Number(new URL(api.url).port)
  return {
    api,
    store,
    clock,
    metrics,
    port,
    /** The parsed log lines. */
    logged,
    /** Sends a POST request. Rejects if the request or the answer does not match `/v1/openapi.json`. */
    post: (path: string, body: unknown, headers?: Readonly<Record<string, string>>) => post(port, path, body, headers),
    /**
     * Sends bytes on a new connection. Resolves with everything that the server sends until it closes the connection.
     */
    raw: (text: string) => raw(port, text),
    async close() {
      await api.close()
      await store.close()
    },
  }
}

/** Sends a POST request to a sidecar, and resolves with its answer. */
export async function callAt(address: string, body: object): Promise<{ status: number; body: JsonBody }> {
  const headers = { 'Content-Type': 'application/json' }
  const answer = await fetch(address, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: answer.status, body: (await answer.json()) as JsonBody }
}

/** Returns the members that identify a well-behaved client. */
export function claim(callsign: string, ssid: number | string | null = 7) {
  return { callsign, ssid, auth: passcodeOf(callsign) }
}

/** Returns a complete body of a register request. */
export function registration(callsign: string, members: object = {}): RegisterBody {
  return { ...claim(callsign), platform: 'android', pushToken: `token-of-${callsign}`, ackMessages: false, ...members }
}

function post(port: number, path: string, body: unknown, headers = {}): Promise<ApiAnswer> {
  return new Promise((resolve, reject) => {
    const type = { 'Content-Type': 'application/json' }
    const outgoing = request({ host: '127.0.0.1', port, path, method: 'POST', headers: { ...type, ...headers } })
    outgoing.on('error', reject)
    outgoing.on('response', (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('error', reject)
      incoming.on('end', () => {
        const bytes = Buffer.concat(chunks)
        const plain = incoming.headers['content-encoding'] === undefined
        const { statusCode: status = 0, headers: received } = incoming
        try {
          expectDocumented({ path, body }, { status, body: JSON.parse(String(plain ? bytes : gunzipSync(bytes))) })
          resolve({ status, headers: received, bytes, body: plain ? JSON.parse(bytes.toString()) : undefined })
        } catch (error) {
          reject(error)
        }
      })
    })
    outgoing.end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body))
  })
}

function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const chunks: Buffer[] = []
    socket.on('data', (chunk) => chunks.push(chunk))
    // A reset is handled like any other end of the connection.
    socket.on('error', () => {})
    socket.on('close', () => resolve(Buffer.concat(chunks).toString()))
    socket.write(text)
  })
}
