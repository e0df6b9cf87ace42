import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { type Fetch, guardFetch, isAllowedAddress } from '../../../plugin/provider/guarded-fetch.ts'

const plainFetch: Fetch = (url, init) => fetch(url, init as RequestInit)
const init = { method: 'GET', headers: {}, body: undefined, redirect: 'manual' } as const

describe('requests to an identity provider', () => {
  let server: Server
  let answer: RequestListener
  let url: string

  before(async () => {
    server = createServer((req, res) => answer(req, res)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  })
  after(() => {
    server.closeAllConnections()
    server.close()
  })

  const guarded = (over: Partial<{ totalMs: number; maxBytes: number }> = {}) =>
    guardFetch(plainFetch, { totalMs: 5000, maxBytes: 1000, ...over })
  const failure = async (promise: Promise<unknown>): Promise<Error & { code?: unknown }> => {
    const outcome = await promise.then(
      () => undefined,
      (error: unknown) => error,
    )
    expect(outcome).to.be.instanceOf(Error)
    return outcome as Error
  }

  it('give status, headers and body as they came', async () => {
    answer = (_, res) => res.writeHead(201, { 'content-type': 'application/json' }).end('{"a":1}')
    const response = await guarded()(url, init)
    expect(response.status).to.equal(201)
    expect(response.headers.get('content-type')).to.equal('application/json')
    expect(await response.json()).to.deep.equal({ a: 1 })
  })

  it('take a body up to the limit and refuse one byte more, also when it is declared nowhere', async () => {
    answer = (_, res) => res.end('x'.repeat(1000))
    expect((await (await guarded()(url, init)).text()).length).to.equal(1000)
    answer = (_, res) => {
      res.write('x'.repeat(600))
      res.end('x'.repeat(401))
    }
    expect((await failure(guarded()(url, init))).code).to.equal('ANSWER_TOO_LARGE')
  })

  it('stop reading an endless body at the limit', async () => {
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
    expect((await failure(guarded()(url, init))).code).to.equal('ANSWER_TOO_LARGE')
    await closed
    expect(sent).to.be.below(50_000_000)
  })

  it('count a compressed body by what it unpacks to', async () => {
    answer = (_, res) => res.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'.repeat(100_000)))
    expect((await failure(guarded()(url, init))).code).to.equal('ANSWER_TOO_LARGE')
  })

  it('end in time when nothing comes, and when a byte comes now and then', async () => {
    answer = () => undefined
    expect((await failure(guarded({ totalMs: 50 })(url, init))).name).to.equal('TimeoutError')
    answer = (_, res) => {
      const drip = setInterval(() => res.write('x'), 5)
      res.on('close', () => clearInterval(drip))
    }
    expect((await failure(guarded({ totalMs: 100 })(url, init))).name).to.equal('TimeoutError')
  })

  it('follow no redirect', async () => {
    let asked = 0
    answer = (_, res) => {
      asked += 1
      res.writeHead(302, { location: url }).end()
    }
    expect((await guarded()(url, { ...init })).status).to.equal(302)
    expect(asked).to.equal(1)
  })

  it('go over TLS, or to loopback', async () => {
    for (const good of [
      'https://idp.test/',
      'http://127.0.0.1:1/',
      'http://127.9.9.9/',
      'http://localhost/',
      'http://[::1]:8/',
    ]) {
      expect(isAllowedAddress(new URL(good)), good).to.equal(true)
    }
    for (const bad of [
      'http://idp.test/',
      'http://127.0.0.1.evil.test/',
      'http://localhost.evil.test/',
      'http://169.254.169.254/',
      'file:///etc/passwd',
      'ftp://127.0.0.1/',
    ]) {
      expect(isAllowedAddress(new URL(bad)), bad).to.equal(false)
      expect((await failure(guarded()(bad, init))).code).to.equal('PLAIN_HTTP')
    }
  })
})
