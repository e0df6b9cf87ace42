import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, get } from 'node:https'
import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { expect } from 'chai'
import { makeCertificates } from '../../../../fixtures/certificate.ts'
import { createAnswerSender } from '../../../../sidecar/api/answers/sender.ts'
import { type OnLoopback, onLoopback } from '../../../support/on-loopback.ts'

const BYTES = 16_000

describe('The reuse of memory for answers', () => {
  let server: OnLoopback
  let responses: ServerResponse[]
  let onRequest: () => void
  const send = createAnswerSender()

  beforeEach(async () => {
    responses = []
    server = await onLoopback(
      createServer((_request, response) => {
        responses.push(response)
        onRequest()
      }),
    )
  })
  afterEach(() => server.close())

  /** Sends an answer in which each byte is `fill`. */
  function answer(response: ServerResponse | undefined, fill: number): void {
    const copyTo = (target: Buffer) => void target.fill(fill, 0, BYTES)
    if (response) send(response, 200, { headers: ['Content-Length', BYTES], content: { bytes: BYTES, copyTo } })
  }

  /** Sends this many requests on one connection without reading the answers. */
  function ask(requests: number) {
    const client = connect(server.port, '127.0.0.1').pause()
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(requests))
    return client
  }

  /** Returns the byte that fills each answer; NaN if an answer is mixed. */
  async function fillsOf(client: ReturnType<typeof ask>, answers: number): Promise<readonly number[]> {
    const chunks: Buffer[] = []
    client.on('data', (chunk) => chunks.push(chunk)).resume()
    const fills: number[] = []
    let held = Buffer.alloc(0)
    while (fills.length < answers) {
      await once(client, 'data')
      held = Buffer.concat([held, ...chunks.splice(0)])
      for (
        let start = held.indexOf('\r\n\r\n') + 4;
        start > 3 && held.length >= start + BYTES;
        start = held.indexOf('\r\n\r\n') + 4
      ) {
        const body = held.subarray(start, start + BYTES)
        fills.push(body.equals(Buffer.alloc(BYTES, body[0])) ? Number(body[0]) : Number.NaN)
        held = held.subarray(start + BYTES)
      }
    }
    client.destroy()
    return fills
  }

  it('an answer to a slow reader stays intact while the server sends other answers', async () => {
    const expected = Array.from({ length: 1200 }, (_, index) => index % 256)
    // Resolves once an answer does not fit into the system's buffers, because the client reads nothing.
    const stuck = new Promise<void>((resolve) => {
      onRequest = () => {
        const response = responses.at(-1)
        answer(response, (responses.length - 1) % 256)
        if (response?.writableFinished === false) resolve()
      }
    })
    const client = ask(expected.length)
    await stuck
    expect(await fillsOf(client, expected.length)).to.deep.equal(expected)
  })

  it('a pipelined answer stays intact while the answer before it is unfinished', async () => {
    const both = new Promise<void>((resolve) => {
      onRequest = () => responses.length === 2 && resolve()
    })
    const client = ask(2)
    await both
    answer(responses[1], 2)
    answer(responses[0], 1)
    expect(await fillsOf(client, 2)).to.deep.equal([1, 2])
  })

  it('reuses the memory of a sent answer for the next answer, also over TLS', async () => {
    const { ca, server: certificate } = await makeCertificates()
    const memories: ArrayBufferLike[] = []
    const copyTo = (target: Buffer) => void memories.push(target.fill(1, 0, BYTES).buffer)
    const content = { bytes: BYTES, copyTo }
    const finished: Promise<unknown>[] = []
    const tls = await onLoopback(
      createTlsServer(certificate, (_request, response) => {
        finished.push(once(response, 'finish'))
        send(response, 200, { headers: ['Content-Length', BYTES], content })
      }),
    )
    try {
      for (const number of [1, 2]) {
        const [answer] = await once(get({ host: '127.0.0.1', port: tls.port, ca: ca.cert }), 'response')
        expect((await buffer(answer)).length).to.equal(BYTES)
        expect(finished).to.have.length(number)
        await Promise.all(finished)
      }
    } finally {
      await tls.close()
    }
    expect(memories[1]).to.equal(memories[0])
  })
})
