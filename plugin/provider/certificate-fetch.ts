import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { Readable } from 'node:stream'
import type { ClientCertificate } from '../config/settings.ts'
import type { Fetch } from './guarded-fetch.ts'

/**
 * `fetch` that shows a client certificate, which Node's own cannot. Follows no redirect. Plain HTTP has no place for a certificate and
 * goes through `plain`.
 */
export function certificateFetch({ cert, key }: ClientCertificate, plain: Fetch): Fetch {
  // A kept connection that the IdP closes just then would cost a login. TLS sessions are resumed all the same.
  const agent = new Agent({ cert, key, keepAlive: false })
  return async (address, init) => {
    const { method, headers, body, signal } = init
    const url = new URL(address)
    if (url.protocol !== 'https:') return plain(address, init)
    signal?.throwIfAborted()
    const outgoing = request(url, { method, headers, agent })
    // What breaks before the answer is told below, and what breaks after it by the body.
    outgoing.on('error', () => undefined)
    const abort = () => outgoing.destroy(new Error('aborted'))
    signal?.addEventListener('abort', abort, { once: true })
    outgoing.once('close', () => signal?.removeEventListener('abort', abort))
    try {
      outgoing.end(body === undefined || body === null ? undefined : textOf(body))
      const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
      return toResponse(incoming)
    } catch (error) {
      // As Node's own `fetch` reports that no answer came.
      throw signal?.aborted ? signal.reason : new TypeError('fetch failed', { cause: error })
    }
  }
}

function textOf(body: unknown): string {
  if (typeof body === 'string' || body instanceof URLSearchParams) return body.toString()
  throw new TypeError('Only texts and forms are sent to an IdP')
}

function toResponse(incoming: IncomingMessage): Response {
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming.headers)) {
    for (const one of [value ?? []].flat()) headers.append(name, one)
  }
  const status = incoming.statusCode ?? 0
  const body = Readable.toWeb(incoming) as ReadableStream<Uint8Array>
  // These statuses may have no body in a Response, not even an empty one.
  const empty = [204, 205, 304].includes(status)
  return new Response(empty ? null : body, { status, statusText: incoming.statusMessage ?? '', headers })
}
