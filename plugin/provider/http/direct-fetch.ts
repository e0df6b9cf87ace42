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

/** A connection that has been idle for longer is not used again: the other side may be about to close it. */
const IDLE_MS = 4_000

/**
 * `fetch` to an identity provider by Node's own client, within the limits, and with the client certificate where there
 * is one. A login asks the IdP two or three times; Node's `fetch` takes twice the time for it and cannot show a
 * certificate. Follows no redirect and takes no compressed answer, so that none can unpack to more than the limit. Goes
 * through the proxy that the environment names. Always verifies certificates. Only a GET is ever repeated.
 */
export function directFetch(
  limits: FetchLimits,
  clock: Clock,
  certificate?: Pick<ClientCertificate, 'cert' | 'key'>,
): Fetch {
  const tls = { ...VERIFIED, ...(certificate ? { cert: certificate.cert, key: certificate.key } : {}) }
  const kept = agents({ keepAlive: true, maxSockets: 64, maxFreeSockets: 8, timeout: IDLE_MS }, tls)
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
      // A form may use up a code or a refresh token. Sent twice, it would have the IdP end the whole session. So it
      // gets a connection of its own: a server may close a kept one just when it is used again. Starman does so after 1
      // s.
      if (init.method !== 'GET') return await send(exchange, { agent: fresh[kind] })
      return await send(exchange, { agent: kept[kind] }).catch((error: unknown) => {
        // The other side closed a kept connection just when it was used again; it has not answered, so it is asked once
        // more.
        if (error instanceof StaleConnection) return send(exchange, { agent: fresh[kind] })
        throw error
      })
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (error instanceof ForbiddenExchange) throw error
      // As Node's own `fetch` reports that no answer came.
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

/** @param route the agent, and what else there is to say of the connection */
function send({ url, init, signal, maxBytes }: Exchange, route: RequestOptions): Promise<Response> {
  const headers = { ...init.headers, ...route.headers, 'accept-encoding': 'identity' }
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const outgoing = request(url, { ...route, method: init.method, headers })
    // Node's own option for it watches the request by a dozen listeners.
    signal.addEventListener('abort', () => outgoing.destroy(new Error('aborted')), { once: true })
    outgoing.on('error', (error) => {
      const stale = outgoing.reusedSocket && 'code' in error && error.code === 'ECONNRESET'
      reject(stale ? new StaleConnection('stale connection', { cause: error }) : error)
    })
    // What a proxy says in place of the IdP would be read as its answer: nothing of it came by TLS.
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
      if (!incoming.complete) return reject(new Error('The connection was lost in the middle of the answer'))
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
  throw new TypeError('Only texts and forms are sent to an IdP')
}

function toResponse(incoming: IncomingMessage, body: Buffer<ArrayBuffer>): Response {
  const headers: [string, string][] = []
  for (const [name, value = []] of Object.entries(incoming.headers)) {
    if (typeof value === 'string') headers.push([name, value])
    else for (const one of value) headers.push([name, one])
  }
  const { statusCode: status = 0, statusMessage: statusText = '' } = incoming
  return new Response(MAY_HAVE_NO_BODY.includes(status) ? null : body, { status, statusText, headers })
}
