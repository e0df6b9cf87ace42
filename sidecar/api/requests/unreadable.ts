import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { ApiError } from '../../errors.ts'

/** Sockets on which answers are still to come: another answer in between would be taken for one of them. */
export interface Unanswered {
  asked(request: IncomingMessage): void
  /** `response` has just been given what answers `request`. */
  answered(request: IncomingMessage, response: ServerResponse): void
  has(socket: Duplex): boolean
}

/** Forgets a request with its answer, or its connection. */
export function trackUnanswered(): Unanswered {
  const requests = new WeakMap<Duplex, Set<IncomingMessage>>()

  function openOn(socket: Duplex): Set<IncomingMessage> {
    const known = requests.get(socket)
    if (known) return known
    const open = new Set<IncomingMessage>()
    requests.set(socket, open)
    return open
  }

  return {
    asked: (request) => void openOn(request.socket).add(request),
    answered(request, response) {
      const forget = () => requests.get(request.socket)?.delete(request)
      // Mostly the system has taken all of it by now, and a listener for each answer costs more than looking.
      if (response.writableFinished) forget()
      else response.on('close', forget)
    },
    // One that is not complete is the one that is at fault, and that may be answered.
    has: (socket) => [...(requests.get(socket) ?? [])].some(({ complete }) => complete),
  }
}

/**
 * What to answer to something that Node could not read as a request; undefined for silence, lost connections and failed
 * TLS handshakes.
 */
export function unreadableError({ code = '' }: NodeJS.ErrnoException): ApiError | undefined {
  if (!code.startsWith('HPE_')) return undefined
  if (code.endsWith('_OVERFLOW')) return new ApiError('too_large')
  return new ApiError('invalid_request', [{ path: '$', reason: 'It is not HTTP/1.1.' }])
}
