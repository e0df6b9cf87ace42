import type { IncomingMessage, ServerResponse } from 'node:http'
import { API_ERRORS, type ApiError } from '../errors.ts'
import { acceptsGzip } from './accept-encoding.ts'
import { completeGzip, type GzipHead, gzipHead } from './gzip-head.ts'
import { bytesOf, type JsonText, jsonText } from './json-text.ts'

/** Answers from this size on are compressed. Source: Limits, compression threshold. */
const MIN_GZIP_BYTES = 860

/** The body of an answer, its beginning kept by somebody who gives the same again. */
export interface Body {
  readonly head: JsonText
  readonly tail: JsonText
  /** `head`, compressed; asked for only when the client takes it. */
  gzipHead(): GzipHead | Promise<GzipHead>
}

/** An answer as it goes out. */
export interface EncodedAnswer {
  readonly headers: (string | number)[]
  /** As text it leaves in one write together with the headers. */
  readonly content: JsonText | Buffer
}

/** `body`, compressed where that pays and the client takes it. */
export async function encodeAnswer({ headers }: IncomingMessage, body: Body): Promise<EncodedAnswer> {
  const { head, tail } = body
  const length = head.length + tail.length
  if (length < MIN_GZIP_BYTES) return { headers: [...FIXED_HEADERS, 'Content-Length', length], content: head + tail }
  if (!acceptsGzip(singleHeader(headers['accept-encoding'])))
    return { headers: [...FIXED_HEADERS, ...VARYING, 'Content-Length', length], content: head + tail }
  const content = completeGzip(await body.gzipHead(), bytesOf(tail))
  return { headers: [...FIXED_HEADERS, ...VARYING, ...GZIP, 'Content-Length', content.length], content }
}

export function sendAnswer(response: ServerResponse, status: number, { headers, content }: EncodedAnswer): void {
  response.writeHead(status, headers)
  response.end(content, 'latin1')
}

/** The body that says `value`. */
export function plainBody(value: object): Body {
  const head = jsonText(value)
  return { head, tail: '', gzipHead: () => gzipHead(bytesOf(head)) }
}

/** The same for a `value` that everybody who asks gets: compressed once. */
export function lastingBody(value: object): Body {
  const body = plainBody(value)
  let compressed: ReturnType<Body['gzipHead']> | undefined
  return {
    ...body,
    gzipHead() {
      compressed ??= body.gzipHead()
      return compressed
    },
  }
}

/** The body of an answer that is not 200. */
export function errorBody({ code, message, details }: ApiError): Body {
  return plainBody({ error: code, message, ...(details.length > 0 ? { details } : {}) })
}

/** An error answer as bytes, for a connection whose request could not even be read; it ends the connection. */
export function rawErrorAnswer(error: ApiError): string {
  const { head } = errorBody(error)
  const { status } = API_ERRORS[error.code]
  const headers = [...FIXED_HEADERS, 'Content-Length', head.length, 'Connection', 'close']
  const lines = headers.map((part, index) => (index % 2 === 0 ? `${part}: ` : `${part}\r\n`))
  return `HTTP/1.1 ${status} Error\r\n${lines.join('')}\r\n${head}`
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
