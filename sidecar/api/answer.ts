import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gzip, gzipSync } from 'node:zlib'
import { API_ERRORS, type ApiError } from '../errors.ts'
import { acceptsGzip } from './accept-encoding.ts'

/** Answers from this size on are compressed. Source: Limits, compression threshold. */
const MIN_GZIP_BYTES = 860

/** Up to this size compressing takes about 0.3 ms, and a trip to the thread pool, where the database works too, costs more. */
const MAX_GZIP_AT_ONCE_BYTES = 32_768

const gzipElsewhere = promisify(gzip)

/** Sends `body` as JSON, compressed where that pays and the client takes it. */
export async function sendJson(request: IncomingMessage, response: ServerResponse, status: number, body: object) {
  const text = JSON.stringify(body)
  const length = Buffer.byteLength(text)
  const headers: OutgoingHttpHeaders = { ...FIXED_HEADERS, 'Content-Length': length }
  if (length >= MIN_GZIP_BYTES) {
    headers.Vary = 'Accept-Encoding'
    if (acceptsGzip(singleHeader(request.headers['accept-encoding']))) {
      const bytes = length <= MAX_GZIP_AT_ONCE_BYTES ? gzipSync(text) : await gzipElsewhere(text)
      response.writeHead(status, { ...headers, 'Content-Encoding': 'gzip', 'Content-Length': bytes.length })
      response.end(bytes)
      return
    }
  }
  response.writeHead(status, headers)
  // As text it leaves in one write together with the headers.
  response.end(text)
}

/** The body of an answer that is not 200. */
export function errorBody({ code, message, details }: ApiError): object {
  return { error: code, message, ...(details.length > 0 ? { details } : {}) }
}

/** An error answer as bytes, for a connection whose request could not even be read; it ends the connection. */
export function rawErrorAnswer(error: ApiError): string {
  const body = JSON.stringify(errorBody(error))
  const { status } = API_ERRORS[error.code]
  const headers = { ...FIXED_HEADERS, 'Content-Length': Buffer.byteLength(body), Connection: 'close' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} Error\r\n${lines.join('')}\r\n${body}`
}

const FIXED_HEADERS = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
} as const

function singleHeader(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(',') : value
}
