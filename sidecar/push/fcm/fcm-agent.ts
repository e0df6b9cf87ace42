import { AsyncLocalStorage } from 'node:async_hooks'
import type { ClientRequest, ClientRequestArgs, IncomingMessage } from 'node:http'
import { Agent, type RequestOptions } from 'node:https'
import { isIP } from 'node:net'
import { parseRetryAfter } from '../gateway/retry-after.ts'
import { throughProxy } from '../gateway/tunnel.ts'
import { type FcmErrorCodes, readErrorCodes } from './fcm-error-codes.ts'

declare module 'http' {
  interface Agent {
    /** What `http.request` hands each request to. */
    addRequest(request: ClientRequest, options: ClientRequestArgs): void
  }
}

/** Where `firebase-admin` sends messages to. Its requests for access tokens, by `google-auth-library`, go elsewhere. */
const SEND_HOST = 'fcm.googleapis.com'

/** One repetition makes up for a kept connection that the server had closed; more is the dispatcher's to decide. */
const MAX_SENDS = 2

/** By this code both clients above know that a request was ended on purpose, and do not repeat it. */
class Abandoned extends Error {
  readonly code = 'AbortError'
}

// The clients' requests name no notification: they are told apart by the call that they come from.
const currentCall = new AsyncLocalStorage<WireCall>()

/**
 * What one notification meets on the wire, of which `firebase-admin` tells its caller less. Stops what the clients
 * would go on with: repeating a 503 by themselves, or a call that nobody waits for any more.
 */
export class WireCall {
  /** Of the last answer to the notification itself. */
  status: number | undefined
  /** That answer's Retry-After, in milliseconds from then. */
  retryAfterMs: number | undefined
  /** That answer's, where it is a 401. */
  errorCodes: FcmErrorCodes | undefined
  /** The `Date` header of the last answer, be it to a request for an access token. */
  date: string | undefined
  /** Of the last request that failed, such as `ECONNREFUSED`. */
  errorCode: string | undefined
  #sends = 0
  #ended = false
  readonly #requests = new Set<ClientRequest>()

  /** Does `work`, whose requests belong to this call. */
  async watch<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await currentCall.run(this, work)
    } finally {
      this.#ended = true
    }
  }

  /** Ends its requests, and any that a client still tries. */
  abandon(): void {
    this.#ended = true
    for (const request of this.#requests) request.destroy(new Abandoned())
  }

  /** A request that has just been handed to its agent. */
  add(request: ClientRequest, now: () => number): void {
    const isSend = request.host === SEND_HOST
    if (isSend) this.#sends++
    if (this.#ended || this.#sends > MAX_SENDS) return void request.destroy(new Abandoned())
    this.#requests.add(request)
    request.once('close', () => this.#requests.delete(request))
    request.once('error', (error: NodeJS.ErrnoException) => {
      if (!(error instanceof Abandoned)) this.errorCode = error.code
    })
    request.prependOnceListener('response', (response) => {
      this.date = response.headers.date
      if (isSend) this.#note(response, now())
    })
  }

  #note(response: IncomingMessage, now: number): void {
    const { statusCode, headers } = response
    this.status = statusCode
    this.retryAfterMs = parseRetryAfter(headers['retry-after'], now)
    this.errorCodes = statusCode === 401 ? readErrorCodes(response) : undefined
    // The client would wait and repeat, for up to a minute, while the dispatcher has a better plan.
    if (statusCode === 503) this.abandon()
  }
}

/** Another server in the place of Google's. */
export interface FcmEndpoint {
  readonly url: URL
  /** CA certificates to trust for it, in PEM; absent: Node's own. */
  readonly ca?: string
}

/** The connections of one FCM gateway, which lead to `endpoint` where there is one. */
export class FcmAgent extends Agent {
  readonly #endpoint: FcmEndpoint | undefined
  readonly #now: () => number

  constructor(endpoint: FcmEndpoint | undefined, now: () => number) {
    super({ keepAlive: true, rejectUnauthorized: true, ...(endpoint?.ca !== undefined && { ca: endpoint.ca }) })
    this.#endpoint = endpoint
    this.#now = now
  }

  override addRequest(request: ClientRequest, options: ClientRequestArgs): void {
    super.addRequest(request, options)
    currentCall.getStore()?.add(request, this.#now)
  }

  override createConnection(options: RequestOptions, ...rest: ConnectionCallback) {
    const to = this.#endpoint ? addressOf(this.#endpoint.url) : {}
    const { host, port } = { ...options, ...to }
    const tunnel = throughProxy(host ?? '', Number(port ?? 443))
    return super.createConnection({ ...options, ...to, ...tunnel }, ...rest)
  }
}

function addressOf({ hostname, port }: URL) {
  const host = hostname.replace(/^\[|\]$/g, '')
  // An IP address is no server name (RFC 6066); the certificate is checked against it all the same.
  return { host, port: port || 443, servername: isIP(host) ? '' : host }
}

type ConnectionCallback = Parameters<Agent['createConnection']> extends [unknown, ...infer Rest] ? Rest : never
