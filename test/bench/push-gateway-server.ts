import { randomUUID } from 'node:crypto'
import { createSecureServer, type IncomingHttpHeaders } from 'node:http2'
import { createServer } from 'node:https'
import type { AddressInfo, Server as NetServer } from 'node:net'
import type { Readable } from 'node:stream'

export type PushService = 'fcm' | 'apns'

/** What the gateway is told, one at a time. */
export type GatewayOrder =
  /** Answered with the port. */
  | { readonly kind: 'open'; readonly service: PushService; readonly cert: string; readonly key: string }
  /** From now on a burst of so many pushes, each answered after `answerMs`. `keeps`: they are to be seen afterwards. */
  | { readonly kind: 'expect'; readonly count: number; readonly answerMs: number; readonly keeps: boolean }
  /** Answered with how many pushes of the burst have come. */
  | { readonly kind: 'arrived' }
  /** Answered with the {@link GatewayBurst} once the last push of it is answered. */
  | { readonly kind: 'burst' }

/** One push as it came. */
export interface KeptPush {
  readonly path: string
  /** With those that HTTP/2 begins with a colon. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** By the machine's monotonic clock, which all its processes share, in microseconds. */
  readonly atUs: number
}

export interface GatewayBurst {
  /** From the first push that came to the last answer. */
  readonly seconds: number
  readonly pushes: readonly KeptPush[]
}

/** What APNs allows on a connection. */
const MAX_STREAMS = 1000
/** Longer than any pause of the bench. */
const KEEP_ALIVE_MS = 600_000

interface Burst {
  readonly count: number
  readonly answerMs: number
  readonly keeps: boolean
  readonly pushes: KeptPush[]
  arrived: number
  answered: number
  beganUs: number
  endedUs: number
}

let burst = burstOf(0, 0, false)
let tell: ((whole: GatewayBurst) => void) | undefined

function burstOf(count: number, answerMs: number, keeps: boolean): Burst {
  return { count, answerMs, keeps, pushes: [], arrived: 0, answered: 0, beganUs: 0, endedUs: 0 }
}

function nowUs(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

/** Reads one push to its end, and has it answered when it is time. */
function take(request: Readable, path: string, headers: IncomingHttpHeaders, answer: () => void): void {
  const current = burst
  const atUs = nowUs()
  if (current.arrived === 0) current.beganUs = atUs
  current.arrived += 1
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    if (current.keeps) {
      const texts = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
      current.pushes.push({ path, headers: texts, body: Buffer.concat(chunks).toString(), atUs })
    }
    const finish = () => {
      answer()
      current.answered += 1
      if (current.answered !== current.count) return
      current.endedUs = nowUs()
      tellWhenWhole()
    }
    if (current.answerMs === 0) finish()
    else setTimeout(finish, current.answerMs)
  })
}

function tellWhenWhole(): void {
  if (tell === undefined || burst.answered < burst.count) return
  tell({ seconds: (burst.endedUs - burst.beganUs) / 1_000_000, pushes: burst.pushes })
  tell = undefined
}

/** Both as lean as they can be: neither looks at what it is sent. */
function fcmServer(certificate: { readonly cert: string; readonly key: string }): NetServer {
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

function apnsServer(certificate: { readonly cert: string; readonly key: string }): NetServer {
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

function carryOut(order: GatewayOrder, reply: (answer: number | object) => void): void {
  if (order.kind === 'open') {
    const server = order.service === 'fcm' ? fcmServer(order) : apnsServer(order)
    server.listen(0, '127.0.0.1', () => reply((server.address() as AddressInfo).port))
  } else if (order.kind === 'expect') {
    burst = burstOf(order.count, order.answerMs, order.keeps)
    reply({})
  } else if (order.kind === 'arrived') reply(burst.arrived)
  else {
    tell = reply
    tellWhenWhole()
  }
}

process.on('message', (order: GatewayOrder) => carryOut(order, (answer) => process.send?.(answer)))
process.send?.('ready')
