import { randomUUID } from 'node:crypto'
import { createSecureServer, type IncomingHttpHeaders } from 'node:http2'
import { createServer } from 'node:https'
import type { Server } from 'node:net'
import type { Readable } from 'node:stream'
import { type Deferred, deferred } from '../support/deferred.ts'
import { onLoopback } from '../support/on-loopback.ts'

export type PushService = 'fcm' | 'apns'

/** In PEM. */
interface Certificate {
  readonly cert: string
  readonly key: string
}

/** One push as it came. */
export interface KeptPush {
  readonly path: string
  /** With those that HTTP/2 begins with a colon. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Time in microseconds by the machine's monotonic clock, which all processes share. */
  readonly atUs: number
}

/** APNs' limit for a connection. */
const MAX_STREAMS = 1000
/** Longer than any pause of the bench. */
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

/** From now on a burst of so many pushes, each answered after `answerMs`. `keeps`: {@link burst} brings them along. */
export function expect(count: number, answerMs: number, keeps: boolean): void {
  const whole = deferred()
  current = { count, answerMs, keeps, whole, pushes: [], arrived: 0, answered: 0, beganUs: 0, endedUs: 0 }
}

/** How many pushes of the burst have come. */
export function arrived(): number {
  return current.arrived
}

/** Resolves once the last push of it is answered, with the seconds from the first that came to the last answer. */
export async function burst() {
  await current.whole.promise
  return { seconds: (current.endedUs - current.beganUs) / 1_000_000, pushes: current.pushes }
}

function nowUs(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

/** Reads one push to its end, and has it answered when it is time. */
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

/** Both as lean as they can be: neither looks at what it is sent. */
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
