import type { CustomFetch } from 'openid-client'
import { type Clock, deadlineSignal } from '../../clock.ts'

/** The type of `fetch` that openid-client calls. */
export type Fetch = CustomFetch

export interface FetchLimits {
  /** Time limit for the whole exchange, including the last byte of the body, in milliseconds. */
  readonly totalMs: number
  /** Size limit of the decoded body, in bytes. */
  readonly maxBytes: number
}

/** Status codes for which the `Response` constructor accepts no body, not even an empty one. */
export const MAY_HAVE_NO_BODY: readonly number[] = [204, 205, 304]

type ForbiddenCode = 'PLAIN_HTTP' | 'ANSWER_TOO_LARGE' | 'PROXY_REFUSED' | 'PROXY_UNUSABLE'

/** Thrown for a request or an answer that breaks a rule for traffic with the IdP. `code` is stable. */
export class ForbiddenExchange extends Error {
  override readonly name = 'ForbiddenExchange'
  readonly code: ForbiddenCode
  constructor(code: ForbiddenCode, message: string) {
    super(message)
    this.code = code
  }
}

/**
 * Requires TLS except on loopback, limits time and size, and follows no redirect, which could lead into the internal
 * network. The time limit includes the body, which could arrive at one byte per second.
 */
export function limitFetch(inner: Fetch, limits: FetchLimits, clock: Clock): Fetch {
  return async (url, init) => {
    assertAllowedAddress(new URL(url))
    const { signal, clear } = deadlineSignal(clock, limits.totalMs, init.signal)
    try {
      const response = await inner(url, { ...init, redirect: 'manual', signal })
      const body = await boundedBody(response, limits.maxBytes, signal)
      return new Response(MAY_HAVE_NO_BODY.includes(response.status) ? null : body, response)
    } finally {
      clear()
    }
  }
}

/** Throws unless an address uses TLS or is on loopback. @throws ForbiddenExchange `PLAIN_HTTP` */
export function assertAllowedAddress(url: URL): void {
  if (isAllowedAddress(url)) return
  throw new ForbiddenExchange('PLAIN_HTTP', 'An IdP is reached over TLS; plain HTTP is accepted on loopback only')
}

/** Whether an address uses TLS or is on loopback. */
export function isAllowedAddress(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))
}

/**
 * Whether a host is on loopback.
 *
 * @param host the host in the notation of a URL
 */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

async function boundedBody(response: Response, maxBytes: number, signal: AbortSignal): Promise<Buffer<ArrayBuffer>> {
  if (!response.body) return Buffer.alloc(0)
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = response.body.getReader()
  // Cancel the reader as well, because a custom `fetch` may ignore the signal once the body has begun.
  const stop = () => void reader.cancel(signal.reason).catch(() => undefined)
  signal.addEventListener('abort', stop, { once: true })
  try {
    for (;;) {
      const { done, value } = await reader.read()
      signal.throwIfAborted()
      if (done) break
      size += value.byteLength
      if (size > maxBytes) {
        stop()
        throw new ForbiddenExchange('ANSWER_TOO_LARGE', `The answer has more than ${maxBytes} bytes`)
      }
      chunks.push(value)
    }
  } finally {
    signal.removeEventListener('abort', stop)
  }
  return Buffer.concat(chunks)
}
