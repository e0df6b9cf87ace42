import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { ApiError } from '../../errors.ts'

/**
 * Tracks sockets that have unanswered requests. On such a socket, an error answer would look like the answer to one of
 * these requests.
 */
export interface Unanswered {
  asked(request: IncomingMessage): void
  /** Records that the answer to `request` was written to `response`. */
  answered(request: IncomingMessage, response: ServerResponse): void
  has(socket: Duplex): boolean
}

/** Creates a tracker that forgets a request once it is answered or its connection closes. */
export function trackUnanswered(): Unanswered {
  const requests = new WeakMap<Duplex, Set<IncomingMessage>>()

  function openOn(socket: Duplex): Set<IncomingMessage> {
    const existing = requests.get(socket)
    if (existing) return existing
    const created = new Set<IncomingMessage>()
    requests.set(socket, created)
    return created
  }

  return {
    asked: (request) => void openOn(request.socket).add(request),
    answered(request, response) {
      const forget = () => requests.get(request.socket)?.delete(request)
      // Usually the kernel has already taken the whole answer. Checking that first is cheaper than adding a listener.
      if (response.writableFinished) forget()
      else response.on('close', forget)
    },
    // Only complete requests count as unanswered. An incomplete one may be the unreadable request itself, which can
    // still be answered.
    has: (socket) => [...(requests.get(socket) ?? [])].some(({ complete }) => complete),
  }
}

/**
 * Returns the error answer for bytes that Node could not parse as a request. Returns undefined for timeouts, lost
 * connections and failed TLS handshakes.
 */
export function unreadableError({ code = '' }: NodeJS.ErrnoException): ApiError | undefined {
  if (!code.startsWith('HPE_')) return undefined
  if (code.endsWith('_OVERFLOW')) return new ApiError('too_large')
  return new ApiError('invalid_request', [{ path: '$', reason: 'It is not HTTP/1.1.' }])
}
