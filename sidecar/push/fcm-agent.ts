import { AsyncLocalStorage } from 'node:async_hooks'
import type { ClientRequest, ClientRequestArgs, IncomingMessage } from 'node:http'
import { Agent, type RequestOptions } from 'node:https'
import { isIP } from 'node:net'

declare module 'http' {
  interface Agent {
    /** What `http.request` hands each request to. */
    addRequest(request: ClientRequest, options: ClientRequestArgs): void
  }
}

/** Where `firebase-admin` sends messages to. Its requests for access tokens, by `google-auth-library`, go elsewhere. */
const SEND_HOST = 'fcm.googleapis.com'

/** What one notification met on the wire. `firebase-admin` tells its caller less. */
export interface WireCall {
  /** How many requests the notification itself took; access tokens are not counted. */
  sends: number
  /** Of the last answer of {@link SEND_HOST}. */
  status?: number
  /** That answer's Retry-After, in milliseconds from then. */
  retryAfterMs?: number
  /** Of the last connection or request that failed, such as `ECONNREFUSED`. */
  errorCode?: string
}

/** Another server in the place of Google's. */
export interface FcmEndpoint {
  readonly url: URL
  /** CA certificates to trust for it, in PEM; absent: Node's own. */
  readonly ca?: string
}

/** One repetition makes up for a kept connection that the server had closed; more is the dispatcher's to decide. */
const MAX_SENDS = 2

/** By this code both clients above know that a request was ended on purpose, and do not repeat it. */
class Abandoned extends Error {
  readonly code = 'AbortError'
}

/**
 * The connections of one FCM gateway. Beside leading them to `endpoint` it watches what each notification meets, and
 * stops what its client would go on with: repeating a 503 by itself, or a call that nobody waits for any more.
 */
export class FcmAgent extends Agent {
  readonly #endpoint: FcmEndpoint | undefined
  // The client's requests name no notification: they are told apart by the call that they come from.
  readonly #current = new AsyncLocalStorage<WireCall>()
  readonly #requests = new WeakMap<WireCall, Set<ClientRequest>>()
  readonly #ended = new WeakSet<WireCall>()
  readonly #now: () => number

  constructor(endpoint: FcmEndpoint | undefined, now: () => number) {
    super({ keepAlive: true, ...(endpoint?.ca !== undefined && { ca: endpoint.ca }) })
    this.#endpoint = endpoint
    this.#now = now
  }

  /** Does `work`, whose requests are noted in `call`. */
  async watch<Result>(call: WireCall, work: () => Promise<Result>): Promise<Result> {
    try {
      return await this.#current.run(call, work)
    } finally {
      this.#ended.add(call)
    }
  }

  /** Ends the requests of `call`, and any that its client still tries. */
  abandon(call: WireCall): void {
    this.#ended.add(call)
    for (const request of this.#requests.get(call) ?? []) request.destroy(new Abandoned())
  }

  override addRequest(request: ClientRequest, options: ClientRequestArgs): void {
    const call = this.#current.getStore()
    super.addRequest(request, options)
    if (!call) return
    const isSend = request.host === SEND_HOST
    if (isSend) call.sends++
    if (this.#ended.has(call) || call.sends > MAX_SENDS) return void request.destroy(new Abandoned())
    const requests = this.#requests.get(call) ?? new Set()
    this.#requests.set(call, requests.add(request))
    request.once('close', () => requests.delete(request))
    request.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== undefined && !(error instanceof Abandoned)) call.errorCode = error.code
    })
    if (isSend) request.prependOnceListener('response', (response) => this.#note(call, response))
  }

  override createConnection(options: RequestOptions, ...rest: ConnectionCallback) {
    if (!this.#endpoint) return super.createConnection(options, ...rest)
    const { hostname, port } = this.#endpoint.url
    const host = hostname.replace(/^\[|\]$/g, '')
    // An IP address is no server name (RFC 6066); the certificate is checked against it all the same.
    const servername = isIP(host) ? '' : host
    return super.createConnection({ ...options, host, port: port || 443, servername }, ...rest)
  }

  #note(call: WireCall, response: IncomingMessage): void {
    if (response.statusCode !== undefined) call.status = response.statusCode
    const retryAfterMs = parseRetryAfter(response.headers['retry-after'], this.#now())
    if (retryAfterMs !== undefined) call.retryAfterMs = retryAfterMs
    // The client would wait and repeat: up to 60 s, while the dispatcher has a better plan.
    if (response.statusCode === 503) this.abandon(call)
  }
}

type ConnectionCallback = Parameters<Agent['createConnection']> extends [unknown, ...infer Rest] ? Rest : never

/** Milliseconds from `now`; undefined for what is neither seconds nor a date (RFC 9110, 10.2.3), or is past. */
function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now
  return ms > 0 ? ms : undefined
}
