import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type HttpListener, listenHttp } from '../api/http-listener.ts'
import { parseBody, receiveBody } from '../api/requests/body.ts'
import { parseStationKey } from '../aprs/station.ts'
import { type Clock, within } from '../clock.ts'
import type { Settings } from '../config/settings.ts'
import type { Log } from '../log.ts'
import type { StationKey } from '../messages/store.ts'
import type { Metrics } from '../metrics.ts'
import { answersHost } from './host-header.ts'
import { POLICY } from './page/style.ts'

/** What came of the wish for a backup. */
export type BackupOutcome =
  | { readonly kind: 'made'; readonly file: string; readonly bytes: number }
  | { readonly kind: 'off' }
  | { readonly kind: 'busy' }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }

interface AdminParts {
  readonly admin: Settings['admin']
  /** Rejects while the process cannot do its work at all, and a restart might help. */
  readonly alive: () => Promise<unknown>
  /** Rejects while calls of phones cannot be answered. */
  readonly answers: () => Promise<unknown>
  /** Why the sidecar is not fully at work, as stable codes; empty when it is. */
  readonly obstacles: () => Promise<readonly string[]>
  /** The page for a person, as HTML that {@link POLICY} fits; whether it loads itself anew is the reader's choice. */
  readonly statusPage: (refresh: boolean) => Promise<string>
  readonly backUp: () => Promise<BackupOutcome>
  /** Ends a station with all its devices; false when there is none of that name. */
  readonly unregister: (station: StationKey) => Promise<boolean>
  readonly metrics: Pick<Metrics, 'expose'>
  readonly clock: Clock
  readonly log: Log
}

interface Page {
  readonly status: number
  readonly contentType: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/** How long the parts that `/healthz` asks may take, in milliseconds; probes commonly wait for a few seconds. */
const ALIVE_WITHIN_MS = 2000
/** The same for what `/readyz/api` asks: a balancer hears within 3 s that another instance has to answer. */
const ANSWERS_WITHIN_MS = 2500
const MISDIRECTED =
  'The operator port answers to localhost, to IP addresses and to the name in admin.host: ask by one of these, or set admin.host to this name.'
const TIME_LIMITS = { headersTimeout: 10_000, requestTimeout: 10_000, connectionsCheckingInterval: 5000 }
const MAX_CONNECTIONS = 256

/** Says where other machines can reach the operator's port. */
export function warnNotLocal(loopback: boolean, log: Pick<Log, 'warn'>): void {
  if (!loopback)
    log.warn('admin-not-local', 'The operator port can be reached from other machines, and asks nobody for a password.')
}

/**
 * Serves the operator's port: `/` for a person, `/healthz` (should it be restarted?), `/readyz` (is it fully at work?),
 * `/readyz/api` (can it answer calls? for balancers), `/metrics`, `POST /backup` and `POST /unregister`. Nothing here
 * asks for a password: the port belongs on loopback or a private network.
 */
export async function serveAdmin(parts: AdminParts): Promise<HttpListener> {
  const { admin, alive, answers, obstacles, statusPage, backUp, unregister, metrics, clock, log } = parts
  const pages = new Map<string, (query: URLSearchParams) => Page | Promise<Page>>([
    ['/', async (query) => page(await statusPage(query.get('refresh') !== 'off'))],
    [
      '/healthz',
      async () => {
        try {
          await within(ALIVE_WITHIN_MS, alive(), clock)
          return json(200, { status: 'ok' })
        } catch (error) {
          log.error('unhealthy', 'The database does not answer.', { error })
          return json(503, { status: 'failing', reasons: ['database_unavailable'] })
        }
      },
    ],
    [
      '/readyz',
      async () => {
        const reasons = await obstacles()
        return reasons.length === 0 ? json(200, { status: 'ready' }) : json(503, { status: 'not_ready', reasons })
      },
    ],
    [
      '/readyz/api',
      async () => {
        try {
          await within(ANSWERS_WITHIN_MS, answers(), clock)
          return json(200, { status: 'ready' })
        } catch {
          return json(503, { status: 'not_ready', reasons: ['messages_not_read'] })
        }
      },
    ],
    [
      '/metrics',
      async () => {
        const { contentType, text } = await metrics.expose()
        return { status: 200, contentType, body: text }
      },
    ],
  ])

  const orders = new Map<string, (body: Buffer) => Promise<Page>>([
    ['/backup', async () => backupPage(await backUp())],
    [
      '/unregister',
      async (body) => {
        const station = stationIn(body)
        if (station === undefined)
          return json(400, { error: 'invalid_request', message: 'The body is { "station": "CALL-SSID" }.' })
        if (!(await unregister(station)))
          return json(404, { error: 'not_registered', message: 'There is no such station.' })
        return json(200, { station })
      },
    ],
  ])

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!answersHost(request.headers.host, admin.host)) {
      request.resume()
      return send(response, json(421, { error: 'misdirected', message: MISDIRECTED }))
    }
    const [path = '', query] = (request.url ?? '').split('?', 2)
    const order = orders.get(path)
    if (order && request.method === 'POST') return answerOrder(order, request, response)
    // A body is of no use here; what there is of it is thrown away.
    request.resume()
    if (order) {
      response.setHeader('Allow', 'POST')
      return send(response, json(405, { error: 'method_not_allowed', message: 'This is asked for by POST.' }))
    }
    const make = pages.get(path)
    if (!make) {
      const message = `There are ${[...pages.keys(), ...orders.keys()].join(', ')}.`
      return send(response, json(404, { error: 'not_found', message }))
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD')
      return send(response, json(405, { error: 'method_not_allowed', message: 'This page is for GET and HEAD.' }))
    }
    send(response, await make(new URLSearchParams(query)))
  }

  async function answerOrder(
    order: (body: Buffer) => Promise<Page>,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const received = await receiveBody(request, response)
    // Browsers send it with every POST: no page that the operator happens to look at is to fill the disk, or to end a
    // station.
    if (request.headers.origin !== undefined)
      return send(response, json(403, { error: 'forbidden', message: 'This is not for web pages to ask for.' }))
    send(response, await order(received.kind === 'whole' ? received.bytes : Buffer.alloc(0)))
  }

  const server = createServer(TIME_LIMITS, (request, response) => {
    respond(request, response).catch((error: unknown) => {
      log.error('admin-failed', 'A page of the operator port could not be made.', { error })
      if (response.headersSent) response.destroy()
      else send(response, json(500, { error: 'internal', message: 'The log says more.' }))
    })
  })
  server.maxConnections = MAX_CONNECTIONS
  const listener = await listenHttp(server, 'http', admin.host, admin.port)
  warnNotLocal(listener.loopback, log)
  return listener
}

/** The station that an operator names in JSON; undefined where there is none in it. */
function stationIn(body: Buffer): StationKey | undefined {
  try {
    const { station } = Object(parseBody(body))
    return typeof station === 'string' ? parseStationKey(station) : undefined
  } catch {
    return undefined
  }
}

function backupPage(outcome: BackupOutcome): Page {
  switch (outcome.kind) {
    case 'made':
      return json(200, { file: outcome.file, bytes: outcome.bytes })
    case 'off':
      return json(409, { error: 'backup_off', message: 'No folder is configured: set backup.folder.' })
    case 'busy':
      return json(409, { error: 'backup_busy', message: 'A backup is being made; ask again when it is done.' })
    case 'failed':
      return json(500, { error: 'backup_failed', message: outcome.message, code: outcome.code })
  }
}

function json(status: number, body: object): Page {
  return { status, contentType: 'application/json', body: `${JSON.stringify(body)}\n` }
}

function page(body: string): Page {
  const headers = { 'Content-Security-Policy': POLICY, 'Referrer-Policy': 'no-referrer' }
  return { status: 200, contentType: 'text/html; charset=utf-8', body, headers }
}

/** Node leaves the body of an answer to HEAD out by itself. */
function send(response: ServerResponse, { status, contentType, body, headers }: Page): void {
  response.writeHead(status, {
    'Content-Type': contentType,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    // No page of another site gets to read any of this.
    'Cross-Origin-Resource-Policy': 'same-origin',
    ...headers,
  })
  response.end(body)
}
