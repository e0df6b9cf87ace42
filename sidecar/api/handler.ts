import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '../clock.ts'
import { API_ERRORS, ApiError, StoreError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { RateLimit } from '../messages/rate-limit.ts'
import type { Metrics } from '../metrics.ts'
import { ActiveRequests } from './active-requests.ts'
import {
  type Body,
  type EncodedAnswer,
  encodeAnswer,
  errorBody,
  rawErrorAnswer,
  rawOverLimitAnswer,
} from './answers/answer.ts'
import type { BytesInFlight, Room } from './answers/bytes-in-flight.ts'
import { createAnswerSender } from './answers/sender.ts'
import type { WriteDeadlines } from './answers/write-deadlines.ts'
import { createAtEndOfTurn } from './end-of-turn.ts'
import { answer as answerWith, type Endpoint, type EndpointOutcome } from './endpoints/endpoint.ts'
import { createFailureLog } from './failure-log.ts'
import { bodyAtHand, isJson, parseBody, receiveBody } from './requests/body.ts'
import type { ClientAddress, ClientAddressOf } from './requests/client-address.ts'
import type { ClientLimit, OverLimit } from './requests/over-limit.ts'
import type { ProxyWarnings } from './requests/proxy-warnings.ts'
import { trackUnanswered, unreadableError } from './requests/unreadable.ts'

/** A call, still to be handed its body as it came. */
type ReceivedRequest = (bytes: Buffer, client: ClientAddress) => Promise<EndpointOutcome>

/** What happens to each request, whatever it is. */
export interface RequestHandler {
  /** Answers, or ends the connection. */
  request(request: IncomingMessage, response: ServerResponse): void
  /** Something on a connection could not be read as a request. */
  unreadable(fault: NodeJS.ErrnoException, socket: Duplex): void
  /** Resolves once no request uses the store any more, whether its client still waits or not. */
  allDone(): Promise<void>
}

/** A request that is to be answered. */
interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly client: ClientAddress
}

interface Leaving extends Exchange {
  readonly status: number
  readonly encoded: EncodedAnswer
  /** What it has of the bytes in flight already. */
  readonly room?: Room | undefined
}

interface HandlerParts {
  /** By path. */
  readonly calls: ReadonlyMap<string, Endpoint>
  /** By path: what a GET or HEAD gets, whoever asks. */
  readonly documents: ReadonlyMap<string, Body>
  readonly clientOf: ClientAddressOf
  readonly limit: RateLimit
  readonly inFlight: BytesInFlight
  readonly deadlines: WriteDeadlines
  readonly overLimits: OverLimit
  /** Whether a connection's peer is a proxy. */
  readonly isProxy: (peer: string | undefined) => boolean
  readonly warnOfProxy: ProxyWarnings
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Log
}

export function createHandler({
  calls,
  documents,
  clientOf,
  limit,
  inFlight,
  deadlines,
  overLimits,
  isProxy,
  warnOfProxy,
  clock,
  metrics,
  log,
}: HandlerParts): RequestHandler {
  const active = new ActiveRequests()
  const unanswered = trackUnanswered()
  const failures = createFailureLog(clock, log)
  const send = createAnswerSender()
  // Answers that leave one right after the other, rather than one between each two requests, take a quarter less time:
  // the way through the kernel stays in the processor's cache, and whoever reads them has not gone to sleep yet.
  const leaving = createAtEndOfTurn<Leaving>((answer) => {
    const { request, response, status, encoded } = answer
    try {
      send(response, status, encoded)
      unanswered.answered(request, response)
      // Mostly the system has taken all of it by now.
      if (!response.writableFinished) watchUnsent(answer)
    } catch {
      request.socket.destroy()
    }
  })

  /** Bounds what slow readers hold: how long, and how many bytes of theirs. */
  function watchUnsent({ response, client, encoded: { content }, room }: Leaving): void {
    const bytes = typeof content === 'string' ? content.length : content.bytes
    deadlines.watch(response, bytes, () => overLimits.refuse(client, 'unread_answers'))
    if (room) return
    const taken = inFlight.take(client, bytes)
    if (taken) {
      releaseAfter(response, taken)
    } else {
      overLimits.refuse(client, 'unread_answers')
      response.destroy()
    }
  }
  // By then nearly all bodies are whole, and there is nothing to listen for.
  const arrived = createAtEndOfTurn<Exchange>((exchange) => {
    // What can still go wrong here is sending a refusal.
    void receive(exchange)
      .catch(() => void exchange.request.socket.destroy())
      .then(() => active.end())
  }, leaving.last)

  function request(request: IncomingMessage, response: ServerResponse): void {
    warnOfProxy(request)
    const client = clientOf(request.socket.remoteAddress, headerText(request.headers['x-forwarded-for']))
    // First of all, so that failed requests count as well, and an attacker's body is not even read.
    if (!limit.take(client, clock.elapsed())) {
      overLimit({ request, response, client }, 'requests')
      return
    }
    metrics.count('api_requests')
    unanswered.asked(request)
    active.begin()
    arrived.add({ request, response, client })
  }

  async function receive(exchange: Exchange): Promise<void> {
    const { request, response } = exchange
    const bytes = bodyAtHand(request)
    if (bytes) return respond(exchange, bytes)
    const received = await receiveBody(request, response)
    if (received.kind === 'whole') return respond(exchange, received.bytes)
    if (received.kind === 'aborted') return
    if (!received.drained) response.setHeader('Connection', 'close')
    return respond(exchange, 'too_large')
  }

  async function respond(exchange: Exchange, bytes: Buffer | 'too_large'): Promise<void> {
    const { request, response, client } = exchange
    try {
      const call = endpointFor(request)
      if (bytes === 'too_large') throw new ApiError('too_large')
      const outcome = await call(bytes, client)
      if (outcome.kind === 'drop') return overLimit(exchange, outcome.limit)
      const { body, room } = outcome
      if (room) releaseAfter(response, room)
      leaving.add({ ...exchange, status: 200, encoded: await encodeAnswer(request, body), room })
    } catch (cause) {
      await refuse(exchange, cause)
    }
  }

  /** What a request is for, judged by everything but what is in its body. */
  function endpointFor({ url = '', method, headers, httpVersion }: IncomingMessage): ReceivedRequest {
    // RFC 9112, section 3.2.
    if (headers.host === undefined && httpVersion !== '1.0')
      throw new ApiError('invalid_request', [{ path: '$', reason: 'The header Host is missing.' }])
    const path = pathOf(url)
    const document = documents.get(path)
    if (document) {
      // Node leaves out the body for HEAD (RFC 9110, section 9.3.2).
      if (method !== 'GET' && method !== 'HEAD') throw new ApiError('method_not_allowed')
      return async () => answerWith(document)
    }
    const call = calls.get(path)
    if (!call) throw new ApiError('not_found')
    if (method !== 'POST') throw new ApiError('method_not_allowed')
    if (!isJson(headers)) throw new ApiError('unsupported_media_type')
    return (bytes, client) => call(parseBody(bytes), client)
  }

  async function refuse(exchange: Exchange, cause: unknown): Promise<void> {
    const { request, response } = exchange
    const error = cause instanceof ApiError ? cause : new ApiError(passesSoon(cause) ? 'overloaded' : 'internal')
    metrics.countCase('api_errors', { reason: error.code })
    if (error !== cause) failures.note(cause, request.url ?? '')
    if (response.headersSent) return void request.socket.destroy()
    if (error.code === 'overloaded') response.setHeader('Retry-After', RETRY_AFTER_SECONDS)
    if (error.code === 'method_not_allowed')
      response.setHeader('Allow', documents.has(pathOf(request.url ?? '')) ? 'GET, HEAD' : 'POST')
    const encoded = await encodeAnswer(request, errorBody(error))
    leaving.add({ ...exchange, status: API_ERRORS[error.code].status, encoded })
  }

  /**
   * Ends a client's connection without a byte. That of a proxy is not the client's: nginx would take one that ends
   * unanswered for a dead server, and let everybody wait for it. It is answered once the body is there, for a
   * connection that ends before is just as dead.
   */
  function overLimit({ request, response, client }: Exchange, which: ClientLimit): void {
    const { socket } = request
    overLimits.refuse(client, which)
    if (!isProxy(socket.remoteAddress)) return void socket.destroy()
    const answer = () => void response.writeHead(429, OVER_LIMIT_HEADERS).end()
    if (request.complete) answer()
    else receiveBody(request, response).then(answer, () => socket.destroy())
  }

  return {
    request,
    allDone: () => active.allDone(),
    unreadable(fault, socket) {
      const error = unreadableError(fault)
      if (!error || !socket.writable || unanswered.has(socket)) {
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
    },
  }
}

/** By then the database has done what waited for it, and earlier answers have been read. */
const RETRY_AFTER_SECONDS = 10
const OVER_LIMIT_HEADERS = { Connection: 'close', 'Content-Length': 0 }

/** The store is busy, or this sidecar is stopping: another instance, or the next start, answers soon. */
function passesSoon(cause: unknown): boolean {
  return cause instanceof StoreError && (cause.code === 'store_overloaded' || cause.code === 'store_closed')
}

/** Without a query, and without the `https://host` that some proxies write before it (RFC 9112, section 3.2.2). */
function pathOf(url: string): string {
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '')
  const query = target.indexOf('?')
  return query < 0 ? target : target.slice(0, query)
}

/** Gives room back once the answer was sent, or its connection ended, which may be before it is answered. */
function releaseAfter(response: ServerResponse, room: Room): void {
  if (response.closed) room.release()
  else response.once('close', room.release)
}

function headerText(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(',') : value
}

function peerOf(socket: Duplex): string | undefined {
  return 'remoteAddress' in socket && typeof socket.remoteAddress === 'string' ? socket.remoteAddress : undefined
}
