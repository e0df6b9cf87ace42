import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ApiError } from '../../errors.ts'

/** Limit of a request body, in bytes. */
export const MAX_BODY_BYTES = 65_536
/**
 * Limit of the bytes that are received and discarded if a body is too large. Many clients read the answer only after
 * they have sent their whole body.
 */
const MAX_DISCARDED_BYTES = 8_388_608

export type ReceivedBody =
  | { readonly kind: 'whole'; readonly bytes: Buffer }
  /** `drained`: the whole body was received and discarded, so the connection stays usable. */
  | { readonly kind: 'too_large'; readonly drained: boolean }
  /** The client disconnected. */
  | { readonly kind: 'aborted' }

/**
 * Returns the body of a request that has arrived completely. Returns undefined if the body is incomplete or too large.
 */
export function bodyAtHand(request: IncomingMessage): Buffer | undefined {
  if (!request.complete || request.destroyed || request.readableLength > MAX_BODY_BYTES) return undefined
  // `read` is called repeatedly, because it returns only one chunk since Node.js 26. Earlier versions return all chunks
  // at once.
  const first: Buffer | null = request.read()
  const second: Buffer | null = first && request.read()
  if (first === null || second === null) return first ?? Buffer.alloc(0)
  const chunks = [first, second]
  for (let next: Buffer | null = request.read(); next !== null; next = request.read()) chunks.push(next)
  return Buffer.concat(chunks)
}

/** Receives the whole body, within the limits. Never rejects. */
export function receiveBody(request: IncomingMessage, response: ServerResponse): Promise<ReceivedBody> {
  return new Promise((resolve) => {
    if (request.destroyed) return resolve({ kind: 'aborted' })
    const { 'content-length': length = '0', expect } = request.headers
    const announced = Number(length)
    // A client that sends `Expect: 100-continue` waits before it sends the body. So a body that is too large is refused
    // at once.
    const asksFirst = expect !== undefined && /^100-continue$/i.test(expect)
    if (announced > (asksFirst ? MAX_BODY_BYTES : MAX_DISCARDED_BYTES))
      return resolve({ kind: 'too_large', drained: false })
    if (asksFirst) response.writeContinue()
    const chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= MAX_BODY_BYTES) chunks.push(chunk)
      else chunks.length = 0
      if (size > MAX_DISCARDED_BYTES) resolve({ kind: 'too_large', drained: false })
    })
    request.on('end', () => {
      if (size > MAX_BODY_BYTES) resolve({ kind: 'too_large', drained: true })
      else resolve({ kind: 'whole', bytes: chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks) })
    })
    // If the client disconnects before the whole body has arrived, the request emits `error` and `close`, or only
    // `close`.
    const aborted = () => resolve({ kind: 'aborted' })
    request.on('error', aborted)
    request.on('close', aborted)
  })
}

/** Returns whether the headers announce a supported body: JSON in UTF-8 without compression. */
export function isJson({
  'content-type': type = '',
  'content-encoding': encoding = 'identity',
}: IncomingMessage['headers']): boolean {
  if (type === 'application/json' && encoding === 'identity') return true
  const [essence = '', ...parameters] = type.toLowerCase().split(';')
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='))
  const utf8 = charset === undefined || /^charset="?(utf-?8|us-ascii)"?$/.test(charset)
  return essence.trim() === 'application/json' && utf8 && encoding.toLowerCase() === 'identity'
}

/** Parses a body. Throws `invalid_request` if the body is not JSON in UTF-8. */
export function parseBody(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new ApiError('invalid_request', [{ path: '$', reason: 'It is not UTF-8.' }])
  try {
    return JSON.parse(bytes.toString())
  } catch {
    throw new ApiError('invalid_request', [{ path: '$', reason: 'It is not JSON.' }])
  }
}
