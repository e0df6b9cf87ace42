import { once } from 'node:events'
import { connect } from 'node:net'
import { expect } from 'chai'
import { claim, registration, startApi } from '../../support/running-api.ts'
import type { Target } from '../target.ts'

/** Far longer than any of the server's own limits of time. */
const HANGS_MS = 60_000

const request = (line: string, body: string, ...headers: string[]) =>
  Buffer.from([line, 'Host: push.example.org', ...headers, '', body].join('\r\n'))
const post = (call: string, value: object, ...headers: string[]) => {
  const body = JSON.stringify(value)
  return request(
    `POST /v1/${call} HTTP/1.1`,
    body,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    ...headers,
  )
}

const SAMPLES = [
  post('register', registration('N0CALL'), 'Accept-Encoding: gzip'),
  post('sync', { ...claim('N0CALL'), since: 0 }, 'Expect: 100-continue', 'X-Forwarded-For: 192.0.2.1'),
  post('sync', { ...claim('N0CALL'), since: 0 }, 'Connection: close'),
  request(
    'POST /v1/sync HTTP/1.1',
    '5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n',
    'Transfer-Encoding: chunked',
    'Content-Type: application/json',
  ),
  request('GET /v1/webpush HTTP/1.1', ''),
  request('POST http://push.example.org/v1/sync?x=1 HTTP/1.0', '{}', 'Content-Length: 2'),
]

/** Bytes on a connection: the API answers with a known status or not at all, and still serves the next client. */
export const httpRequests: Target = {
  name: 'http-requests',
  samples: [...SAMPLES, Buffer.concat(SAMPLES.slice(0, 3))],
  async open() {
    const limits = { max: 1_000_000_000, newStationsPerHour: 1_000_000_000 }
    const api = await startApi({ rateLimit: limits, webPush: { allowPrivate: false, publicKey: 'B' } })
    return {
      async check(input) {
        const answer = await exchange(api.port, input)
        expect(answer).to.match(/^(HTTP\/1\.1 |$)/)
        for (const [, status] of answer.matchAll(/HTTP\/1\.1 (\d{3}) /g))
          expect(Number(status)).to.be.oneOf([100, 200, 400, 403, 404, 405, 408, 413, 415, 431, 503])
        expect((await fetch(`${api.api.url}/v1/webpush`)).status).to.equal(200)
        expect(api.logged.filter(({ level }) => level === 'error')).to.deep.equal([])
      },
      close: api.close,
    }
  },
}

/** Returns the answer to these bytes until the connection ends. */
async function exchange(port: number, input: Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  // A reset ends the connection like a normal close.
  socket.on('error', () => socket.destroy())
  socket.end(input)
  await once(socket, 'close', { signal: AbortSignal.timeout(HANGS_MS) })
  return Buffer.concat(chunks).toString('latin1')
}
