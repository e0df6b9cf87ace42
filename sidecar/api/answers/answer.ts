import type { IncomingMessage } from 'node:http'
import { API_ERRORS, type ApiError } from '../../errors.ts'
import { copyGzip, type GzipHead, gzipBytes, gzipHead } from './gzip-head.ts'
import { bytesOf, type JsonText, jsonText } from './json-text.ts'

/** Answers from this size on are compressed. Source: Limits, compression threshold. */
const MIN_GZIP_BYTES = 860

/** The body of an answer. */
export interface Body {
  readonly head: BodyHead
  readonly tail: JsonText
}

/** The beginning of a body, kept by somebody who gives the same again, in the shape that the client takes it in. */
export interface BodyHead {
  readonly bytes: number
  text(): JsonText
  /** Puts it at the beginning of `target`. */
  copyTo(target: Buffer): void
  compressed(): GzipHead | Promise<GzipHead>
}

/** An answer as it goes out. */
export interface EncodedAnswer {
  readonly headers: (string | number)[]
  readonly content: Content
}

/** As text it leaves in one write together with the headers; what is longer is put together where it leaves from. */
export type Content = JsonText | { readonly bytes: number; copyTo(target: Buffer): void }

/** `body`, compressed where that pays and the client takes it. */
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
  return 'blocks' in compressed ? encodeGzip(compressed, tail) : compressed.then((made) => encodeGzip(made, tail))
}

function encodeGzip(compressed: GzipHead, tail: JsonText): EncodedAnswer {
  const end = bytesOf(tail)
  const bytes = gzipBytes(compressed, end)
  const copyTo = (target: Buffer) => copyGzip(compressed, end, target)
  return { headers: [...FIXED_HEADERS, ...VARYING, ...GZIP, 'Content-Length', bytes], content: { bytes, copyTo } }
}

/** The body that says `value`. */
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

/** The same for a `value` that everybody who asks gets: compressed once. */
export function lastingBody(value: object): Body {
  const { head, tail } = plainBody(value)
  let made: ReturnType<BodyHead['compressed']> | undefined
  const compressed = () => {
    made ??= head.compressed()
    return made
  }
  return { head: { ...head, compressed }, tail }
}

/** The body of an answer that is not 200. */
export function errorBody({ code, message, details }: ApiError): Body {
  return plainBody({ error: code, message, ...(details.length > 0 ? { details } : {}) })
}

/** An error answer as bytes, for a connection whose request could not even be read; it ends the connection. */
export function rawErrorAnswer(error: ApiError): string {
  const text = errorBody(error).head.text()
  const { status } = API_ERRORS[error.code]
  const headers = [...FIXED_HEADERS, 'Content-Length', text.length, 'Connection', 'close']
  const lines = headers.map((part, index) => (index % 2 === 0 ? `${part}: ` : `${part}\r\n`))
  return `HTTP/1.1 ${status} Error\r\n${lines.join('')}\r\n${text}`
}

/** The same for a proxy's connection over the rate limit. */
export function rawOverLimitAnswer(): string {
  return 'HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'
}

// Names and values in turn: Node takes that as it is, where it has to go through an object's members first.
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
 * Whether a client takes gzip, by its `Accept-Encoding` (RFC 9110, section 12.5.3), and does not rather have it plain.
 */
export function acceptsGzip(header: string | undefined): boolean {
  if (header === undefined) return false
  // Nearly all: then no coding is rather taken than another.
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
