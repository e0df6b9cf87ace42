import type { IncomingMessage } from 'node:http'
import { API_ERRORS, type ApiError } from '../../errors.ts'
import { copyGzip, type GzipHead, gzipBytes, gzipHead } from './gzip-head.ts'
import { bytesOf, type JsonText, jsonText } from './json-text.ts'

/** Minimum size of an answer that is compressed, in bytes. Source: section Limits of the specification. */
const MIN_GZIP_BYTES = 860

/** The JSON body of an answer, in two parts: `head`, followed by `tail`. */
export interface Body {
  readonly head: BodyHead
  readonly tail: JsonText
}

/** The beginning of a body, plain and compressed. Later answers can reuse it. */
export interface BodyHead {
  readonly bytes: number
  text(): JsonText
  /** Copies the plain bytes to the beginning of `target`. */
  copyTo(target: Buffer): void
  compressed(): GzipHead | Promise<GzipHead>
}

/** An answer in the encoding that the client accepts. */
export interface EncodedAnswer {
  readonly headers: (string | number)[]
  readonly content: Content
}

/** The content of an answer. A string is sent in one write with the headers; other content is copied into a buffer. */
export type Content = JsonText | { readonly bytes: number; copyTo(target: Buffer): void }

/** Encodes `body`. Compresses it if it is large enough and the client accepts gzip. */
export function encodeAnswer({ headers }: IncomingMessage, body: Body): EncodedAnswer | Promise<EncodedAnswer> {
  const { head, tail } = body
  const length = head.bytes + tail.length
  if (length < MIN_GZIP_BYTES)
    return { headers: [...FIXED_HEADERS, 'Content-Length', length], content: head.text() + tail }
  if (!acceptsGzip(singleHeader(headers['accept-encoding']))) {
    const copyTo = (target: Buffer) => {
      head.copyTo(target)
      target.write(tail, head.bytes, 'latin1')
    }
    return { headers: [...FIXED_HEADERS, ...VARYING, 'Content-Length', length], content: { bytes: length, copyTo } }
  }
  const compressed = head.compressed()
  return 'blocks' in compressed ? encodeGzip(compressed, tail) : compressed.then((head) => encodeGzip(head, tail))
}

function encodeGzip(compressed: GzipHead, tail: JsonText): EncodedAnswer {
  const end = bytesOf(tail)
  const bytes = gzipBytes(compressed, end)
  const copyTo = (target: Buffer) => copyGzip(compressed, end, target)
  return { headers: [...FIXED_HEADERS, ...VARYING, ...GZIP, 'Content-Length', bytes], content: { bytes, copyTo } }
}

/** Returns `value` as a JSON body. */
export function plainBody(value: object): Body {
  return { head: plainHead(jsonText(value)), tail: '' }
}

export function plainHead(text: JsonText): BodyHead {
  return {
    bytes: text.length,
    text: () => text,
    copyTo: (target) => void target.write(text, 'latin1'),
    compressed: () => gzipHead(bytesOf(text)),
  }
}

/** Returns `value` as a JSON body that many answers share. The body is compressed only once. */
export function lastingBody(value: object): Body {
  const { head, tail } = plainBody(value)
  let result: ReturnType<BodyHead['compressed']> | undefined
  const compressed = () => {
    result ??= head.compressed()
    return result
  }
  return { head: { ...head, compressed }, tail }
}

/** Returns the body of an error answer. */
export function errorBody({ code, message, details }: ApiError): Body {
  return plainBody({ error: code, message, ...(details.length > 0 ? { details } : {}) })
}

/**
 * Returns a complete error answer, with status line and headers, that closes the connection. The API sends it to a
 * client that does not send an HTTP request.
 */
export function rawErrorAnswer(error: ApiError): string {
  const text = errorBody(error).head.text()
  const { status } = API_ERRORS[error.code]
  const headers = [...FIXED_HEADERS, 'Content-Length', text.length, 'Connection', 'close']
  const lines = headers.map((part, index) => (index % 2 === 0 ? `${part}: ` : `${part}\r\n`))
  return `HTTP/1.1 ${status} Error\r\n${lines.join('')}\r\n${text}`
}

/** Returns the complete answer that closes a proxy's connection because of the rate limit. */
export function rawOverLimitAnswer(): string {
  return 'HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'
}

// Header names and values alternate. Node.js uses such an array directly, but would copy the members of an object.
const FIXED_HEADERS = [
  'Content-Type',
  'application/json',
  'Cache-Control',
  'no-store',
  'X-Content-Type-Options',
  'nosniff',
] as const
const VARYING = ['Vary', 'Accept-Encoding'] as const
const GZIP = ['Content-Encoding', 'gzip'] as const

function singleHeader(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(',') : value
}

/**
 * Returns whether the client's `Accept-Encoding` (RFC 9110, section 12.5.3) accepts gzip and does not prefer
 * uncompressed answers.
 */
export function acceptsGzip(header: string | undefined): boolean {
  if (header === undefined) return false
  // Nearly all clients send no `q=` weights. For these, a regular expression is enough.
  if (!header.includes(';')) return UNWEIGHTED.test(header)
  const weights = new Map<string, number>()
  for (const entry of header.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = entry.split(';').map((part) => part.trim())
    const quality = parameters.find((parameter) => parameter.startsWith('q='))
    weights.set(coding === 'x-gzip' ? 'gzip' : coding, quality === undefined ? 1 : Number(quality.slice(2)))
  }
  const gzip = weights.get('gzip') ?? weights.get('*') ?? 0
  return gzip > 0 && gzip >= (weights.get('identity') ?? 0)
}

const UNWEIGHTED = /(?:^|,)\s*(?:gzip|x-gzip|\*)\s*(?:,|$)/i
