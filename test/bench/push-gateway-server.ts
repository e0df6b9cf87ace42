import { randomUUID } from 'node:crypto'
import { createSecureServer, type IncomingHttpHeaders } from 'node:http2'
import { createServer } from 'node:https'
import type { Server } from 'node:net'
import type { Readable } from 'node:stream'
import { type Deferred, deferred } from '../support/deferred.ts'
import { onLoopback } from '../support/on-loopback.ts'

export type PushService = 'fcm' | 'apns'

/** A certificate and its key, in PEM. */
interface Certificate {
  readonly cert: string
  readonly key: string
}

/** A push as the gateway received it. */
export interface KeptPush {
  readonly path: string
  /** The headers, including the pseudo-headers of HTTP/2, such as `:path`. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Arrival time in microseconds, by the machine's monotonic clock, which is the same for all processes. */
  readonly atUs: number
}

/** Limit of concurrent HTTP/2 streams of a connection, as at APNs. */
const MAX_STREAMS = 1000
/** Time until an idle connection is closed, in milliseconds. It is longer than any pause of the bench. */
const KEEP_ALIVE_MS = 600_000

interface Burst {
  readonly count: number
  readonly answerMs: number
  readonly keeps: boolean
  readonly pushes: KeptPush[]
  readonly whole: Deferred
  arrived: number
  answered: number
  beganUs: number
  endedUs: number
}

let current: Burst

export async function open(service: PushService, certificate: Certificate): Promise<number> {
  const server = service === 'fcm' ? fcmServer(certificate) : apnsServer(certificate)
  return (await onLoopback(server)).port
}

/**
 * Starts a new burst of `count` pushes, each answered after `answerMs`. `keeps`: whether {@link burst} returns the
 * pushes.
 */
export function expect(count: number, answerMs: number, keeps: boolean): void {
  const whole = deferred()
  current = { count, answerMs, keeps, whole, pushes: [], arrived: 0, answered: 0, beganUs: 0, endedUs: 0 }
}

/** Returns the number of pushes of the burst that have arrived. */
export function arrived(): number {
  return current.arrived
}

/**
 * Resolves once the last push of the burst is answered. Returns the seconds from the first arrival to the last answer,
 * and the pushes.
 */
export async function burst() {
  await current.whole.promise
  return { seconds: (current.endedUs - current.beganUs) / 1_000_000, pushes: current.pushes }
}

function nowUs(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

/** Reads one push to its end, and answers it after the delay of the burst. */
function take(request: Readable, path: string, headers: IncomingHttpHeaders, answer: () => void): void {
  const burst = current
  const atUs = nowUs()
  if (burst.arrived === 0) burst.beganUs = atUs
  burst.arrived += 1
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    if (burst.keeps) {
      const texts = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
      burst.pushes.push({ path, headers: texts, body: Buffer.concat(chunks).toString(), atUs })
    }
    const finish = () => {
      answer()
      burst.answered += 1
      if (burst.answered !== burst.count) return
      burst.endedUs = nowUs()
      burst.whole.resolve()
    }
    if (burst.answerMs === 0) finish()
    else setTimeout(finish, burst.answerMs)
  })
}

/** A minimal FCM server. Like the APNs server, it does not check the pushes. */
function fcmServer(certificate: Certificate): Server {
  return createServer({ ...certificate, keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    const json = (body: object) =>
      response.writeHead(200, { 'content-type': 'application/json; charset=UTF-8' }).end(JSON.stringify(body))
    const path = request.url ?? ''
    if (path === '/token') {
      request.resume()
      json({ access_token: `throw-away.${randomUUID()}`, token_type: 'Bearer', expires_in: 3600 })
    } else take(request, path, request.headers, () => json({ name: `projects/bench/messages/${randomUUID()}` }))
  })
}

function apnsServer(certificate: Certificate): Server {
  return createSecureServer({ ...certificate, settings: { maxConcurrentStreams: MAX_STREAMS } }).on(
    'stream',
    (stream, headers) => {
      stream.on('error', () => stream.close())
      take(stream, headers[':path'] ?? '', headers, () =>
        stream.respond({ ':status': 200, 'apns-id': randomUUID().toUpperCase() }, { endStream: true }),
      )
    },
  )
}
