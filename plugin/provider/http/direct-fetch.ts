import { type AgentOptions, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import {
  Agent as HttpsAgent,
  type AgentOptions as HttpsAgentOptions,
  request as httpsRequest,
  type RequestOptions,
} from 'node:https'
import { type Clock, deadlineSignal } from '../../clock.ts'
import type { ClientCertificate } from '../../config/settings.ts'
import {
  assertAllowedAddress,
  type Fetch,
  type FetchLimits,
  ForbiddenExchange,
  MAY_HAVE_NO_BODY,
} from './limited-fetch.ts'
import { proxyFor, throughProxy } from './proxy.ts'
import { VERIFIED } from './verification.ts'

/**
 * Limit of a reused connection's idle time, in milliseconds. A server may close a connection that was idle for longer.
 */
const IDLE_MS = 4_000

/**
 * Returns a `fetch` for requests to an IdP, with Node's HTTP client. Node's own `fetch` takes twice as long and cannot
 * present a client certificate. The returned one follows no redirect, repeats only GET requests, uses the environment's
 * proxy, and always verifies certificates.
 */
export function directFetch(
  limits: FetchLimits,
  clock: Clock,
  certificate?: Pick<ClientCertificate, 'cert' | 'key'>,
): Fetch {
  const tls = { ...VERIFIED, ...(certificate ? { cert: certificate.cert, key: certificate.key } : {}) }
  const reused = agents({ keepAlive: true, maxSockets: 64, maxFreeSockets: 8, timeout: IDLE_MS }, tls)
  const fresh = agents({}, tls)
  return async (address, init) => {
    const url = new URL(address)
    assertAllowedAddress(url)
    const kind = url.protocol === 'https:' ? 'https' : 'http'
    const { signal, clear } = deadlineSignal(clock, limits.totalMs, init.signal)
    const exchange = { url, init, signal, maxBytes: limits.maxBytes }
    try {
      const proxy = proxyFor(url)
      if (proxy) return await send(exchange, { ...tls, ...(await throughProxy(url, proxy, signal)) })
      // Never repeat a POST request, because the second use of a code or refresh token ends the session. Use a new
      // connection, because a server may just close a reused one. Starman does so after 1 s.
      if (init.method !== 'GET') return await send(exchange, { agent: fresh[kind] })
      return await send(exchange, { agent: reused[kind] }).catch((error: unknown) => {
        // The other side closed the reused connection before it answered the request, so repeat the request.
        if (error instanceof StaleConnection) return send(exchange, { agent: fresh[kind] })
        throw error
      })
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (error instanceof ForbiddenExchange) throw error
      // If there was no answer, throw the same kind of error as Node's `fetch`.
      throw new TypeError('fetch failed', { cause: error instanceof StaleConnection ? error.cause : error })
    } finally {
      clear()
    }
  }
}

function agents(options: AgentOptions, tls: HttpsAgentOptions) {
  return { http: new HttpAgent(options), https: new HttpsAgent({ ...options, ...tls }) }
}

class StaleConnection extends Error {}

interface Exchange {
  readonly url: URL
  readonly init: Parameters<Fetch>[1]
  readonly signal: AbortSignal
  readonly maxBytes: number
}

/**
 * Sends a request and returns the complete answer.
 *
 * @param route options of the connection, such as the agent
 */
function send({ url, init, signal, maxBytes }: Exchange, route: RequestOptions): Promise<Response> {
  // A small compressed answer could unpack to more than the size limit.
  const headers = { ...init.headers, ...route.headers, 'accept-encoding': 'identity' }
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const outgoing = request(url, { ...route, method: init.method, headers })
    // Do not pass `signal` to Node's request function, which would add a dozen listeners for each request.
    signal.addEventListener('abort', () => outgoing.destroy(new Error('aborted')), { once: true })
    outgoing.on('error', (error) => {
      const stale = outgoing.reusedSocket && 'code' in error && error.code === 'ECONNRESET'
      reject(stale ? new StaleConnection('stale connection', { cause: error }) : error)
    })
    // Reject the proxy's own answer, so that it is not mistaken for the IdP's. The proxy's answer did not arrive over
    // TLS.
    outgoing.on('proxyConnect', ({ statusCode }: { readonly statusCode: number }) => {
      if (statusCode === 200) return
      const refusal = new ForbiddenExchange('PROXY_REFUSED', `The proxy answered CONNECT with ${statusCode}`)
      reject(refusal)
      outgoing.destroy(refusal)
    })
    outgoing.on('response', (incoming) => receive(incoming, maxBytes).then(resolve, reject))
    outgoing.end(textOf(init.body))
  })
}

function receive(incoming: IncomingMessage, maxBytes: number): Promise<Response> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size > maxBytes)
        incoming.destroy(new ForbiddenExchange('ANSWER_TOO_LARGE', `The answer has more than ${maxBytes} bytes`))
    })
    incoming.on('error', reject)
    incoming.on('close', () => {
      if (!incoming.complete) return reject(new Error('The connection was lost before the end of the answer'))
      try {
        resolve(toResponse(incoming, Buffer.concat(chunks)))
      } catch (error) {
        reject(error)
      }
    })
  })
}

function textOf(body: unknown): string | undefined {
  if (body === undefined || body === null) return undefined
  if (typeof body === 'string' || body instanceof URLSearchParams) return body.toString()
  throw new TypeError('Only text and forms can be sent to an IdP')
}

function toResponse(incoming: IncomingMessage, body: Buffer<ArrayBuffer>): Response {
  const headers: [string, string][] = []
  for (const [name, value = []] of Object.entries(incoming.headers)) {
    if (typeof value === 'string') headers.push([name, value])
    else for (const item of value) headers.push([name, item])
  }
  const { statusCode: status = 0, statusMessage: statusText = '' } = incoming
  return new Response(MAY_HAVE_NO_BODY.includes(status) ? null : body, { status, statusText, headers })
}
