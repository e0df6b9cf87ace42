import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { makeCertificates, makeClientCertificate } from '../../../../fixtures/certificate.ts'
import { startIdp } from '../../../../fixtures/idp/server.ts'
import type { Clock } from '../../../../plugin/clock.ts'
import { causeCode } from '../../../../plugin/log.ts'
import { directFetch } from '../../../../plugin/provider/http/direct-fetch.ts'
import {
  type Fetch,
  type FetchLimits,
  isAllowedAddress,
  limitFetch,
} from '../../../../plugin/provider/http/limited-fetch.ts'
import { errorOf } from '../../../support/error-of.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { type OnLoopback, onLoopback } from '../../../support/on-loopback.ts'

const plainFetch: Fetch = (url, init) => fetch(url, init as RequestInit)
const init = { method: 'GET', headers: {}, body: undefined, redirect: 'manual' } as const

const makers: Record<string, (limits: FetchLimits, clock: Clock) => Fetch> = {
  "by the host's fetch function": (limits, clock) => limitFetch(plainFetch, limits, clock),
  "by the plugin's own fetch function": directFetch,
}

for (const [kind, make] of Object.entries(makers)) {
  describe(`requests to an IdP ${kind}`, () => {
    let server: OnLoopback
    let answer: RequestListener
    let url: string

    before(async () => {
      server = await onLoopback(createServer((req, res) => answer(req, res)))
      url = `${server.url}/`
    })
    after(() => server.close())

    const limited = (clock = new FakeClock()) => make({ totalMs: 5000, maxBytes: 1000 }, clock)
    const failure = async (promise: Promise<unknown>): Promise<Error & { code?: unknown }> => {
      const outcome = await errorOf(promise)
      expect(outcome).to.be.instanceOf(Error)
      return outcome as Error
    }

    it('a request to an IdP returns status, headers and body of the answer unchanged', async () => {
      answer = (_, res) => res.writeHead(201, { 'content-type': 'application/json' }).end('{"a":1}')
      const response = await limited()(url, init)
      expect(response.status).to.equal(201)
      expect(response.headers.get('content-type')).to.equal('application/json')
      expect(await response.json()).to.deep.equal({ a: 1 })
    })

    it('a request to an IdP returns no body if the status allows none', async () => {
      for (const status of [204, 205, 304]) {
        answer = (_, res) => res.writeHead(status).end(status === 205 ? 'x' : undefined)
        const response = await limited()(url, init)
        expect(response.status).to.equal(status)
        expect(await response.text()).to.equal('')
      }
    })

    it("accepts an IdP's answer up to the size limit, and refuses one byte more", async () => {
      answer = (_, res) => res.end('x'.repeat(1000))
      expect((await (await limited()(url, init)).text()).length).to.equal(1000)
      answer = (_, res) => {
        res.write('x'.repeat(600))
        res.end('x'.repeat(401))
      }
      expect((await failure(limited()(url, init))).code).to.equal('ANSWER_TOO_LARGE')
    })

    // Shows: plugin 10.21.
    it('stops reading an endless answer at the size limit', async () => {
      let sent = 0
      const closed = new Promise<void>((resolve) => {
        answer = (_, res) => {
          const more = () => {
            while (!res.destroyed && res.write('x'.repeat(16_384))) sent += 16_384
          }
          res.on('drain', more).on('close', resolve)
          more()
        }
      })
      expect((await failure(limited()(url, init))).code).to.equal('ANSWER_TOO_LARGE')
      await closed
      expect(sent).to.be.below(50_000_000)
    })

    it('applies the size limit to the decompressed answer', async () => {
      answer = (req, res) => {
        const packed = /gzip/.test(String(req.headers['accept-encoding']))
        res
          .writeHead(200, packed ? { 'content-encoding': 'gzip' } : {})
          .end(packed ? gzipSync('x'.repeat(100_000)) : 'x'.repeat(1001))
      }
      expect((await failure(limited()(url, init))).code).to.equal('ANSWER_TOO_LARGE')
    })

    it('sends forms to an IdP, and fails with the cause if the IdP does not answer', async () => {
      answer = (req, res) => {
        const length = req.headers['content-length']
        req.on('data', (chunk) => res.end(`${length} ${chunk}`)).resume()
      }
      const form = { ...init, method: 'POST', body: new URLSearchParams({ a: 'b c' }) }
      expect(await (await limited()(url, form)).text()).to.equal('5 a=b+c')
      answer = (req) => req.socket.resetAndDestroy()
      expect(causeCode(await failure(limited()(url, init)))).to.match(/ECONNRESET|UND_ERR_SOCKET/)
      const closed = await onLoopback(createServer())
      await closed.close()
      const nobody = `${closed.url}/`
      expect(causeCode(await failure(limited()(nobody, init)))).to.equal('ECONNREFUSED')
    })

    it('a request to an IdP fails if the connection is lost in the middle of an answer', async () => {
      answer = (_, res) => {
        res.writeHead(200, { 'content-length': '100' })
        res.write('half', () => res.destroy())
      }
      expect(await failure(limited()(url, init).then((response) => response.text()))).to.be.instanceOf(Error)
    })

    // Shows: plugin 10.21.
    it('a request times out if the IdP sends nothing, or only a byte now and then', async () => {
      for (const bytes of ['', 'x']) {
        const clock = new FakeClock()
        const request = new Promise<ServerResponse>((resolve) => {
          answer = (_, res) => resolve(res)
        })
        let isOver = false
        const failed = failure(limited(clock)(url, init)).finally(() => {
          isOver = true
        })
        const response = await request
        for (const _ of [1, 2, 3, 4]) {
          if (bytes !== '') await new Promise((resolve) => response.write(bytes, resolve))
          await clock.advance(1_249)
        }
        expect(isOver).to.equal(false)
        await clock.advance(4)
        expect((await failed).name).to.equal('TimeoutError')
      }
    })

    // Shows: plugin 10.22.
    it('requests to an IdP do not follow redirects', async () => {
      let requests = 0
      answer = (_, res) => {
        requests += 1
        res.writeHead(302, { location: url }).end()
      }
      expect((await limited()(url, { ...init })).status).to.equal(302)
      expect(requests).to.equal(1)
    })

    // Shows: plugin 10.23.
    it('requests to an IdP use TLS, except to loopback', async () => {
      const good = [
        'https://idp.test/',
        'http://127.0.0.1:1/',
        'http://127.9.9.9/',
        'http://localhost/',
        'http://[::1]:8/',
      ]
      for (const address of good) expect(isAllowedAddress(new URL(address)), address).to.equal(true)
      for (const bad of [
        'http://idp.test/',
        'http://127.0.0.1.evil.test/',
        'http://localhost.evil.test/',
        'http://169.254.169.254/',
        'file:///etc/passwd',
        'ftp://127.0.0.1/',
      ]) {
        expect(isAllowedAddress(new URL(bad)), bad).to.equal(false)
        expect((await failure(limited()(bad, init))).code).to.equal('PLAIN_HTTP')
      }
    })
  })
}

describe("the plugin's own fetch function", () => {
  const open: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of open.splice(0)) await close()
  })

  it('a client certificate does not make an IdP of an unknown authority trusted', async () => {
    const idp = await startIdp({ tls: { ...(await makeCertificates()).server, clientCertificates: true } })
    const certificate = await makeClientCertificate()
    const directRequest = directFetch({ totalMs: 5000, maxBytes: 1000 }, new FakeClock(), certificate)
    open.push(idp.close)
    const error = await errorOf(directRequest(`${idp.issuer}/jwks`, init))
    expect(causeCode(error)).to.equal('UNABLE_TO_VERIFY_LEAF_SIGNATURE')
  })

  it('closes the connection to a silent IdP, even during the TLS handshake', async () => {
    const sockets = new Set<Socket>()
    const server = createTcpServer((socket) => {
      sockets.add(socket.resume())
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    })
    const { port, close } = await onLoopback(server)
    open.push(close)
    const clock = new FakeClock()
    const directRequest = directFetch({ totalMs: 5000, maxBytes: 1000 }, clock)
    const failed = errorOf(directRequest(`https://127.0.0.1:${port}/`, init))
    await once(server, 'connection')
    await clock.advance(5_000)
    expect((await failed)?.name).to.equal('TimeoutError')
    for (const socket of sockets) await once(socket, 'close')
    const aborted = errorOf(directRequest(`https://127.0.0.1:${port}/`, { ...init, signal: AbortSignal.abort() }))
    expect((await aborted)?.name).to.equal('AbortError')
  })

  it('repeats a request to an IdP if its kept-alive connection was closed', async () => {
    let requests = 0
    const { url, close } = await onLoopback(
      createServer((req, res) => {
        requests += 1
        // The second request on a connection finds it closed.
        if (requests === 2) req.socket.resetAndDestroy()
        else res.end('fine')
      }),
    )
    open.push(close)
    const directRequest = directFetch({ totalMs: 5000, maxBytes: 1000 }, new FakeClock())
    await (await directRequest(url, init)).text()
    expect(await (await directRequest(url, init)).text()).to.equal('fine')
    expect(requests).to.equal(3)
  })

  // Shows: plugin 10.25.
  it('sends a form over a new connection, and does not repeat it after a reset', async () => {
    let requests = 0
    const connections = new Set<unknown>()
    const { url, close } = await onLoopback(
      createServer((req, res) => {
        requests += 1
        connections.add(req.socket)
        if (requests === 3) req.socket.resetAndDestroy()
        else res.end('fine')
      }),
    )
    open.push(close)
    const directRequest = directFetch({ totalMs: 5000, maxBytes: 1000 }, new FakeClock())
    const form = { ...init, method: 'POST', body: new URLSearchParams({ refresh_token: 'once' }) }
    for (let sent = 0; sent < 2; sent += 1) await (await directRequest(url, form)).text()
    expect(causeCode(await errorOf(directRequest(url, form)))).to.equal('ECONNRESET')
    expect(requests).to.equal(3)
    expect(connections.size).to.equal(3)
  })
})
