import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '../clock.ts'
import { API_ERRORS, ApiError, StoreError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { RateLimit } from '../messages/rate-limit.ts'
import type { Metrics } from '../metrics.ts'
import { ActiveRequests } from './active-requests.ts'
import { type AnswerQueue, releaseAfter } from './answer-queue.ts'
import { type Body, encodeAnswer, errorBody, rawErrorAnswer, rawOverLimitAnswer } from './answers/answer.ts'
import { answer as answerWith, type Endpoint, type EndpointOutcome } from './endpoints/endpoint.ts'
import { createFailureLog, type FailureLog } from './failure-log.ts'
import { bodyAtHand, isJson, parseBody, receiveBody } from './requests/body.ts'
import type { ClientAddress, ClientAddressOf } from './requests/client-address.ts'
import type { ClientLimit, OverLimit } from './requests/over-limit.ts'
import type { ProxyWarnings } from './requests/proxy-warnings.ts'
import { unreadableError } from './requests/unreadable.ts'
import { createTurnBatch } from './turn-batch.ts'

/** The endpoint of a request. It is called with the bytes of the request's body. */
type BoundEndpoint = (bytes: Buffer, client: ClientAddress) => Promise<EndpointOutcome>

/** A request within the rate limit, and its response. */
interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly client: ClientAddress
}

export interface HandlerParts {
  /** Endpoints by path. */
  readonly endpoints: ReadonlyMap<string, Endpoint>
  /** Bodies for GET and HEAD requests, by path. They are the same for every client. */
  readonly documents: ReadonlyMap<string, Body>
  readonly clientOf: ClientAddressOf
  readonly limit: RateLimit
  readonly answers: AnswerQueue
  readonly overLimits: OverLimit
  /** Returns whether a connection's peer is a trusted proxy. */
  readonly isProxy: (peer: string | undefined) => boolean
  readonly warnOfProxy: ProxyWarnings
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Log
}

/**
 * Handles every request of the API.
 *
 * Drops requests over the rate limit. For each other request, reads the body, runs the endpoint and queues the answer.
 * Failures become error answers.
 *
 * A request is active until its answer is queued or its connection closes. When none is active (`allDone`), the store
 * can be closed.
 */
export class RequestHandler {
  readonly #parts: HandlerParts
  readonly #failures: FailureLog
  readonly #active = new ActiveRequests()
  // The handler reads bodies at the end of the event loop's turn. By then nearly all bodies have arrived completely,
  // and can be read without listeners.
  readonly #arrived = createTurnBatch<Exchange>(
    (exchange) => {
      // `#receive` rejects only if not even an error answer could be sent.
      void this.#receive(exchange)
        .catch(() => void exchange.request.socket.destroy())
        .then(() => this.#active.end())
    },
    () => this.#parts.answers.runLast(),
  )

  constructor(parts: HandlerParts) {
    this.#parts = parts
    this.#failures = createFailureLog(parts.clock, parts.log)
  }

  /** Answers the request, or closes its connection. */
  handle(request: IncomingMessage, response: ServerResponse): void {
    const { warnOfProxy, clientOf, limit, clock, metrics, answers } = this.#parts
    warnOfProxy(request)
    const client = clientOf(request.socket.remoteAddress, headerText(request.headers['x-forwarded-for']))
    // The rate limit is checked first. So requests that fail count too, and the body of a request over the limit is not
    // read.
    if (!limit.take(client, clock.elapsed())) {
      this.#dropOverLimit({ request, response, client }, 'requests')
      return
    }
    metrics.count('api_requests')
    answers.unanswered.asked(request)
    this.#active.begin()
    this.#arrived.add({ request, response, client })
  }

  /** Answers bytes that are not an HTTP request, or closes their connection. */
  handleUnreadable(fault: NodeJS.ErrnoException, socket: Duplex): void {
    const { clientOf, limit, overLimits, isProxy, clock, metrics, answers } = this.#parts
    const error = unreadableError(fault)
    if (!error || !socket.writable || answers.unanswered.has(socket)) {
      socket.destroy()
      return
    }
    const peer = peerOf(socket)
    const client = clientOf(peer, undefined)
    if (!limit.take(client, clock.elapsed())) {
      overLimits.refuse(client, 'requests')
      if (isProxy(peer)) socket.end(rawOverLimitAnswer(), () => socket.destroy())
      else socket.destroy()
      return
    }
    metrics.count('api_requests')
    metrics.countCase('api_errors', { reason: error.code })
    socket.end(rawErrorAnswer(error), () => socket.destroy())
  }

  /** Resolves once no request uses the store, including requests of clients that have disconnected. */
  allDone(): Promise<void> {
    return this.#active.allDone()
  }

  async #receive(exchange: Exchange): Promise<void> {
    const { request, response } = exchange
    const bytes = bodyAtHand(request)
    if (bytes) return this.#respond(exchange, bytes)
    const received = await receiveBody(request, response)
    if (received.kind === 'whole') return this.#respond(exchange, received.bytes)
    if (received.kind === 'aborted') return
    if (!received.drained) response.setHeader('Connection', 'close')
    return this.#respond(exchange, 'too_large')
  }

  async #respond(exchange: Exchange, bytes: Buffer | 'too_large'): Promise<void> {
    const { request, response, client } = exchange
    try {
      const endpoint = this.#endpointFor(request)
      if (bytes === 'too_large') throw new ApiError('too_large')
      const outcome = await endpoint(bytes, client)
      if (outcome.kind === 'drop') return this.#dropOverLimit(exchange, outcome.limit)
      const { body, reservation } = outcome
      if (reservation) releaseAfter(response, reservation)
      const encoded = await encodeAnswer(request, body)
      this.#parts.answers.add({ request, response, client, status: 200, encoded, reservation })
    } catch (cause) {
      await this.#refuse(exchange, cause)
    }
  }

  /** Returns the endpoint for the path, method and headers. Throws {@link ApiError} if there is none. */
  #endpointFor({ url = '', method, headers, httpVersion }: IncomingMessage): BoundEndpoint {
    // HTTP/1.1 requires Host (RFC 9112, section 3.2).
    if (headers.host === undefined && httpVersion !== '1.0')
      throw new ApiError('invalid_request', [{ path: '$', reason: 'The header Host is missing.' }])
    const path = pathOf(url)
    const document = this.#parts.documents.get(path)
    if (document) {
      // Node.js omits the body in answers to HEAD (RFC 9110, section 9.3.2).
      if (method !== 'GET' && method !== 'HEAD') throw new ApiError('method_not_allowed')
      return async () => answerWith(document)
    }
    const endpoint = this.#parts.endpoints.get(path)
    if (!endpoint) throw new ApiError('not_found')
    if (method !== 'POST') throw new ApiError('method_not_allowed')
    if (!isJson(headers)) throw new ApiError('unsupported_media_type')
    return (bytes, client) => endpoint(parseBody(bytes), client)
  }

  async #refuse({ request, response, client }: Exchange, cause: unknown): Promise<void> {
    const { metrics, documents, answers } = this.#parts
    const error = cause instanceof ApiError ? cause : new ApiError(isTemporary(cause) ? 'overloaded' : 'internal')
    metrics.countCase('api_errors', { reason: error.code })
    if (error !== cause) this.#failures.note(cause, request.url ?? '')
    if (response.headersSent) return void request.socket.destroy()
    if (error.code === 'overloaded') response.setHeader('Retry-After', RETRY_AFTER_SECONDS)
    if (error.code === 'method_not_allowed')
      response.setHeader('Allow', documents.has(pathOf(request.url ?? '')) ? 'GET, HEAD' : 'POST')
    const encoded = await encodeAnswer(request, errorBody(error))
    answers.add({ request, response, client, status: API_ERRORS[error.code].status, encoded })
  }

  /**
   * Closes a client's connection without an answer. A proxy gets an answer, because other clients use the same
   * connection.
   */
  #dropOverLimit({ request, response, client }: Exchange, limit: ClientLimit): void {
    const { overLimits, isProxy } = this.#parts
    const { socket } = request
    overLimits.refuse(client, limit)
    if (!isProxy(socket.remoteAddress)) return void socket.destroy()
    const answer = () => void response.writeHead(429, OVER_LIMIT_HEADERS).end()
    // nginx treats a server as dead if it closes a connection before it has read the body and sent an answer.
    if (request.complete) answer()
    else receiveBody(request, response).then(answer, () => socket.destroy())
  }
}

/**
 * `Retry-After` of answers with the code `overloaded`, in seconds. By then the database has finished its backlog, and
 * clients have read earlier answers.
 */
const RETRY_AFTER_SECONDS = 10
const OVER_LIMIT_HEADERS = { Connection: 'close', 'Content-Length': 0 }

/**
 * Returns whether the store is busy or closed. Then another instance can answer soon, or this instance after a restart.
 */
function isTemporary(cause: unknown): boolean {
  return cause instanceof StoreError && (cause.code === 'store_overloaded' || cause.code === 'store_closed')
}

/**
 * Strips the query from a URL, and the `https://host` that some proxies put before the path (RFC 9112, section 3.2.2).
 */
function pathOf(url: string): string {
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '')
  const query = target.indexOf('?')
  return query < 0 ? target : target.slice(0, query)
}

function headerText(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(',') : value
}

function peerOf(socket: Duplex): string | undefined {
  return 'remoteAddress' in socket && typeof socket.remoteAddress === 'string' ? socket.remoteAddress : undefined
}
