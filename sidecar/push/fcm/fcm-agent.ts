import { AsyncLocalStorage } from 'node:async_hooks'
import type { ClientRequest, ClientRequestArgs, IncomingMessage } from 'node:http'
import { Agent, type RequestOptions } from 'node:https'
import { isIP } from 'node:net'
import { parseRetryAfter } from '../gateway/retry-after.ts'
import { throughProxy } from '../gateway/tunnel.ts'
import { type FcmErrorCodes, readErrorCodes } from './fcm-error-codes.ts'

declare module 'http' {
  interface Agent {
    /** Called by `http.request` for each request. */
    addRequest(request: ClientRequest, options: ClientRequestArgs): void
  }
}

/**
 * The host to which `firebase-admin` sends notifications. `google-auth-library` gets access tokens from another host.
 */
export const SEND_HOST = 'fcm.googleapis.com'

/**
 * Limit of requests to FCM per notification: the first, and a repetition by `firebase-admin` if FCM had closed the idle
 * connection.
 */
const MAX_SENDS = 2

/**
 * The error of an HTTP request that {@link FcmExchange} ended. `firebase-admin` and `google-auth-library` recognize its
 * code and do not repeat the request.
 */
class Abandoned extends Error {
  readonly code = 'AbortError'
}

// The {@link FcmExchange} to which the current request belongs. The asynchronous context makes it available inside the
// client libraries.
const currentExchange = new AsyncLocalStorage<FcmExchange>()

/** All requests of the client libraries for one notification. Records details that `firebase-admin` does not return. */
export class FcmExchange {
  /** HTTP status of the last answer to the notification itself; undefined if there was none. */
  status: number | undefined
  /** The Retry-After of the last answer to the notification, in milliseconds from the arrival of the answer. */
  retryAfterMs: number | undefined
  /** The FCM error codes in the last answer to the notification, if its status was 401. */
  errorCodes: FcmErrorCodes | undefined
  /** The `Date` header of Google's last answer to a notification or a request for an access token. */
  date: string | undefined
  /** Code of the last request that failed, such as `ECONNREFUSED`. */
  errorCode: string | undefined
  #sends = 0
  #ended = false
  readonly #requests = new Set<ClientRequest>()

  /** Runs `work`, and adds the requests that `work` starts to this exchange. */
  async watch<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await currentExchange.run(this, work)
    } finally {
      this.#ended = true
    }
  }

  /** Ends the requests for this notification, and any that the libraries start for it later. */
  abandon(): void {
    this.#ended = true
    for (const request of this.#requests) request.destroy(new Abandoned())
  }

  /**
   * Adds an HTTP request that a client library sends for this notification. Call right after the agent has received the
   * request.
   */
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
    // After a 503, `firebase-admin` would wait and repeat for up to a minute. The dispatcher schedules retries instead.
    if (statusCode === 503) this.abandon()
  }
}

/** A server to use instead of Google's. */
export interface FcmEndpoint {
  readonly url: URL
  /** CA certificates in PEM that are trusted for this server. Default: those of Node.js. */
  readonly ca?: string
}

/** Opens the connections of one FCM gateway. If `endpoint` is set, connects to it instead of Google. */
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
    currentExchange.getStore()?.add(request, this.#now)
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
  // An IP address is not allowed as a TLS server name (RFC 6066). The certificate must still be valid for the address.
  return { host, port: port || 443, servername: isIP(host) ? '' : host }
}

type ConnectionCallback = Parameters<Agent['createConnection']> extends [unknown, ...infer Rest] ? Rest : never
