import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '../clock.ts'
import { API_ERRORS, ApiError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { RateLimit } from '../rate-limit.ts'
import { type Body, encodeAnswer, errorBody, rawErrorAnswer } from './answers/answer.ts'
import { createReceipts, type Delivery } from './answers/receipts.ts'
import { createAnswerSender } from './answers/sender.ts'
import { answer as answerWith, type Call, type CallOutcome } from './calls/call.ts'
import { isJson, parseBody, receiveBody } from './requests/body.ts'
import type { ClientAddress, ClientAddressOf } from './requests/client-address.ts'
import { trackUnanswered, unreadableError } from './requests/unreadable.ts'
import { createEndOfTurn } from './turn.ts'

/** A call, still to be handed its body as it came. */
type ReceivedCall = (bytes: Buffer, client: ClientAddress) => Promise<CallOutcome>

/** What happens to each request, whatever it is. */
export interface RequestHandler {
  /** Answers, or ends the connection. Never rejects. */
  request(request: IncomingMessage, response: ServerResponse): Promise<void>
  /** Something on a connection could not be read as a request. */
  unreadable(fault: NodeJS.ErrnoException, socket: Duplex): void
}

interface HandlerParts {
  /** By path. */
  readonly calls: ReadonlyMap<string, Call>
  /** By path: what a GET gets, whoever asks. */
  readonly documents: ReadonlyMap<string, Body>
  readonly clientOf: ClientAddressOf
  readonly limit: RateLimit
  /** Whether connections are being ended because the API is. */
  readonly isClosing: () => boolean
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Log
}

export function createHandler({
  calls,
  documents,
  clientOf,
  limit,
  isClosing,
  clock,
  metrics,
  log,
}: HandlerParts): RequestHandler {
  const unanswered = trackUnanswered()
  const receipts = createReceipts(isClosing)
  const endOfTurn = createEndOfTurn()
  const send = createAnswerSender()

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const client = clientOf(request.socket.remoteAddress, headerText(request.headers['x-forwarded-for']))
    // First of all, so that failed requests count as well, and an attacker's body is not even read.
    if (!limit.take(client, clock.elapsed())) return drop(request.socket)
    metrics.count('api_requests')
    receipts.asked(request.socket)
    unanswered.track(request, response)
    const received = await receiveBody(request, response)
    if (received.kind === 'aborted') return
    try {
      if (received.kind === 'too_large' && !received.drained) response.setHeader('Connection', 'close')
      const call = callFor(request)
      if (received.kind === 'too_large') throw new ApiError('too_large')
      const outcome = await call(received.bytes, client)
      if (outcome.kind === 'drop') return drop(request.socket)
      await answer(request, response, 200, outcome.body, outcome.delivery)
    } catch (cause) {
      await refuse(request, response, cause)
    }
  }

  async function answer(
    request: IncomingMessage,
    response: ServerResponse,
    status: number,
    body: Body,
    delivery?: Delivery,
  ): Promise<void> {
    const encoded = await encodeAnswer(request, body)
    await endOfTurn()
    send(response, status, encoded)
    if (delivery) receipts.watch(request.socket, response, delivery)
  }

  /** What a request is for, judged by everything but what is in its body. */
  function callFor({ url = '', method, headers, httpVersion }: IncomingMessage): ReceivedCall {
    // RFC 9112, section 3.2.
    if (headers.host === undefined && httpVersion !== '1.0')
      throw new ApiError('invalid_request', [{ path: '$', reason: 'The header Host is missing.' }])
    const path = pathOf(url)
    const document = documents.get(path)
    if (document) {
      if (method !== 'GET') throw new ApiError('method_not_allowed')
      return async () => answerWith(document)
    }
    const call = calls.get(path)
    if (!call) throw new ApiError('not_found')
    if (method !== 'POST') throw new ApiError('method_not_allowed')
    if (!isJson(headers)) throw new ApiError('unsupported_media_type')
    return (bytes, client) => call(parseBody(bytes), client)
  }

  async function refuse(request: IncomingMessage, response: ServerResponse, cause: unknown): Promise<void> {
    const error = cause instanceof ApiError ? cause : new ApiError('internal')
    metrics.countCase('api_errors', { reason: error.code })
    if (error.code === 'internal')
      log.error('api-failed', 'A request could not be answered; the client was told to try again later.', {
        path: request.url?.slice(0, LOGGED_PATH_CHARACTERS),
        error: cause,
      })
    if (response.headersSent) return void request.socket.destroy()
    if (error.code === 'method_not_allowed')
      response.setHeader('Allow', documents.has(pathOf(request.url ?? '')) ? 'GET' : 'POST')
    await answer(request, response, API_ERRORS[error.code].status, errorBody(error))
  }

  /** Ends a connection without a byte. */
  function drop(socket: Duplex): void {
    metrics.count('api_dropped')
    socket.destroy()
  }

  return {
    // What can still go wrong here is sending a refusal.
    request: (request, response) => respond(request, response).catch(() => void request.socket.destroy()),
    unreadable(fault, socket) {
      const error = unreadableError(fault)
      if (!error || !socket.writable || unanswered.has(socket)) {
        socket.destroy()
        return
      }
      if (!limit.take(clientOf(peerOf(socket), undefined), clock.elapsed())) {
        drop(socket)
        return
      }
      metrics.count('api_requests')
      metrics.countCase('api_errors', { reason: error.code })
      socket.end(rawErrorAnswer(error), () => socket.destroy())
    },
  }
}

const LOGGED_PATH_CHARACTERS = 100

/** Without a query, and without the `https://host` that some proxies write before it (RFC 9112, section 3.2.2). */
function pathOf(url: string): string {
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '')
  return target.split('?', 1)[0] ?? ''
}

function headerText(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(',') : value
}

function peerOf(socket: Duplex): string | undefined {
  return 'remoteAddress' in socket && typeof socket.remoteAddress === 'string' ? socket.remoteAddress : undefined
}
