import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type HttpListener, listenHttp } from '../api/http-listener.ts'
import { receiveBody } from '../api/requests/body.ts'
import type { Settings } from '../config/settings.ts'
import type { Log } from '../log.ts'
import { type CommandParts, commandsOf, type PageParts, pagesOf } from './admin-pages.ts'
import { jsonPage, type Page } from './answer-page.ts'
import { answersHost } from './host-header.ts'

interface AdminParts extends PageParts, CommandParts {
  readonly admin: Settings['admin']
}

const MISDIRECTED =
  'The operator port answers to localhost, to IP addresses and to the name in admin.host. Use one of these, or set admin.host to this name.'
const TIME_LIMITS = { headersTimeout: 10_000, requestTimeout: 10_000, connectionsCheckingInterval: 5000 }
const MAX_CONNECTIONS = 256

/** Warns if other machines can reach the operator's port. */
export function warnNotLocal(loopback: boolean, log: Pick<Log, 'warn'>): void {
  if (!loopback)
    log.warn(
      'admin-not-local',
      'Other machines can reach the operator port, which needs no password. Set admin.host to 127.0.0.1, or keep the port on a private network.',
    )
}

/**
 * Serves the operator's port. It needs no password, so it must be on loopback or a private network.
 *
 * - `/`: status page; `/view`, `/view/CALL`: stations as HTML; `/stations`, `/stations/CALL`: as JSON; `/metrics`: for
 *   Prometheus.
 * - `/healthz`: should the sidecar be restarted? `/readyz`: does it fully work? `/readyz/api`: can it answer requests?
 * - `POST /backup`, `POST /unregister`, and `POST /notify` for a test notification.
 */
export async function serveAdmin(parts: AdminParts): Promise<HttpListener> {
  const { admin, log } = parts
  const handler = new AdminHandler(parts)
  const server = createServer(TIME_LIMITS, (request, response) => {
    handler.respond(request, response).catch((error: unknown) => {
      log.error('admin-failed', 'Could not build a page of the operator port.', { error })
      if (response.headersSent) response.destroy()
      else send(response, jsonPage(500, { error: 'internal', message: 'See the log for the reason.' }))
    })
  })
  server.maxConnections = MAX_CONNECTIONS
  const listener = await listenHttp(server, 'http', admin.host, admin.port)
  warnNotLocal(listener.loopback, log)
  return listener
}

/** Checks the host, method and origin of a request, and answers it with a page or by running a command. */
class AdminHandler {
  readonly #admin: Settings['admin']
  readonly #pages: ReturnType<typeof pagesOf>
  readonly #commands: ReturnType<typeof commandsOf>

  constructor(parts: AdminParts) {
    this.#admin = parts.admin
    this.#pages = pagesOf(parts)
    this.#commands = commandsOf(parts)
  }

  async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!answersHost(request.headers.host, this.#admin.host)) {
      request.resume()
      return send(response, jsonPage(421, { error: 'misdirected', message: MISDIRECTED }))
    }
    const [path = '', query] = (request.url ?? '').split('?', 2)
    const command = this.#commands.get(path)
    if (command && request.method === 'POST') return runCommand(command, request, response)
    // Discards the request's body, if it has one.
    request.resume()
    if (command) return refuseMethod(response, 'POST')
    // The last part of the path is the callsign. It is not percent-decoded, because a callsign never needs encoding.
    const [, folder, call = ''] = /^(\/[a-z]+\/)([^/]+)$/.exec(path) ?? []
    const page = this.#pages.get(path) ?? this.#pages.get(`${folder}CALL`)
    if (!page) {
      const message = `There is no such page. These pages and commands exist: ${[...this.#pages.keys(), ...this.#commands.keys()].join(', ')}.`
      return send(response, jsonPage(404, { error: 'not_found', message }))
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuseMethod(response, 'GET, HEAD')
    send(response, await page(new URLSearchParams(query), call))
  }
}

function refuseMethod(response: ServerResponse, allowed: string): void {
  response.setHeader('Allow', allowed)
  send(response, jsonPage(405, { error: 'method_not_allowed', message: `Use ${allowed.replace(', ', ' or ')}.` }))
}

async function runCommand(
  command: (body: Buffer) => Promise<Page>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const received = await receiveBody(request, response)
  // Browsers send Origin with every POST. These are refused, because no web page may fill the disk or remove a station.
  if (request.headers.origin !== undefined)
    return send(
      response,
      jsonPage(403, {
        error: 'forbidden',
        message: 'Requests from web pages are refused. Use another program, such as curl.',
      }),
    )
  send(response, await command(received.kind === 'whole' ? received.bytes : Buffer.alloc(0)))
}

/** Sends a page. For a HEAD request, Node.js omits the body. */
function send(response: ServerResponse, { status, contentType, body, headers }: Page): void {
  response.writeHead(status, {
    'Content-Type': contentType,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    // Pages of other sites must not embed or read these pages.
    'Cross-Origin-Resource-Policy': 'same-origin',
    ...headers,
  })
  response.end(body)
}
