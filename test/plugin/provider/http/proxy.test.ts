import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { makeCertificates } from '../../../../fixtures/certificate.ts'
import { type Idp, startIdp } from '../../../../fixtures/idp/server.ts'
import { directFetch } from '../../../../plugin/provider/http/direct-fetch.ts'
import { proxyFor } from '../../../../plugin/provider/http/proxy.ts'
import { createClientFolder } from '../../../support/client-keys.ts'
import { type ConnectProxyOptions, startConnectProxy } from '../../../support/connect-proxy.ts'
import { errorOf } from '../../../support/error-of.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { proxyEnvironment } from '../../../support/proxy-environment.ts'
import { TYPESCRIPT } from '../../../support/typescript/options.ts'
import { until } from '../../../support/until.ts'

const GET = { method: 'GET', headers: {}, body: undefined, redirect: 'manual' } as const

/** `flow/proxy.test.ts` has whole logins through a proxy. */
describe('proxy from environment variables', () => {
  const open: (() => unknown)[] = []
  proxyEnvironment()
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close()
  })
  const addressFor = (url: string) => proxyFor(new URL(url))?.address.href

  it('uses HTTPS_PROXY or https_proxy for https URLs, and HTTP_PROXY for http URLs', () => {
    for (const name of ['HTTPS_PROXY', 'https_proxy']) {
      process.env[name] = 'http://proxy.example:3128'
      expect(addressFor('https://idp.example/'), name).to.equal('http://proxy.example:3128/')
      delete process.env[name]
      expect(addressFor('https://idp.example/'), name).to.equal(undefined)
    }
    process.env.HTTP_PROXY = 'http://127.0.0.1:3128'
    expect(addressFor('https://idp.example/')).to.equal(undefined)
    expect(addressFor('http://127.0.0.1:80/')).to.equal('http://127.0.0.1:3128/')
  })

  // Shows: plugin 4.37.
  it('uses no proxy for hosts in NO_PROXY or no_proxy', () => {
    process.env.HTTPS_PROXY = 'http://proxy.example:3128'
    for (const name of ['NO_PROXY', 'no_proxy']) {
      process.env[name] = 'other.example, .corp.example,idp.example:8443'
      expect(addressFor('https://a.corp.example/'), name).to.equal(undefined)
      expect(addressFor('https://other.example/'), name).to.equal(undefined)
      expect(addressFor('https://idp.example:8443/'), name).to.equal(undefined)
      expect(addressFor('https://idp.example/'), name).to.be.a('string')
      delete process.env[name]
    }
    process.env.NO_PROXY = '*'
    expect(addressFor('https://idp.example/')).to.equal(undefined)
  })

  it('never uses the proxy for loopback addresses', () => {
    process.env.HTTPS_PROXY = 'http://proxy.example:3128'
    process.env.HTTP_PROXY = 'http://proxy.example:3128'
    for (const url of ['http://127.0.0.1/', 'https://localhost/', 'https://[::1]:8443/']) {
      expect(addressFor(url), url).to.equal(undefined)
    }
  })

  it('a proxy address that is invalid or has another scheme causes PROXY_UNUSABLE', () => {
    for (const address of ['socks5://user:pass@proxy.example:1080', 'http://[proxy']) {
      process.env.HTTPS_PROXY = address
      expect(() => proxyFor(new URL('https://idp.example/')), address)
        .to.throw()
        .with.property('code', 'PROXY_UNUSABLE')
    }
  })

  it('credentials in HTTPS_PROXY are removed from the address of the proxy', () => {
    process.env.HTTPS_PROXY = 'http://me:p%40ss@proxy.example:3128'
    const proxy = proxyFor(new URL('https://idp.example/'))
    expect(proxy?.address.href).to.equal('http://proxy.example:3128/')
    expect(proxy?.authorization).to.equal(`Basic ${Buffer.from('me:p@ss').toString('base64')}`)
  })

  for (const [title, written, address, credentials] of [
    [
      'the proxy password may contain an unencoded percent sign',
      'http://me:50%off%25@p.test:1',
      'http://p.test:1/',
      'me:50%off%',
    ],
    [
      'the proxy user name may contain characters beyond ASCII',
      'http://m%C3%A9:%@p.test:1',
      'http://p.test:1/',
      'mé:%',
    ],
    ['the proxy is reached by http if its address has no scheme', 'p.test:1', 'http://p.test:1/', undefined],
    ['the proxy is reached by https if its address says so', 'https://p.test:1', 'https://p.test:1/', undefined],
  ] as const) {
    it(title, () => {
      for (const name of ['HTTPS_PROXY', 'all_proxy']) {
        process.env[name] = written
        const proxy = proxyFor(new URL('https://idp.example/'))
        expect(proxy?.address.href, name).to.equal(address)
        const sent = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`
        expect(proxy?.authorization ?? undefined).to.equal(sent)
        delete process.env[name]
      }
    })
  }

  async function failThrough(options: ConnectProxyOptions) {
    const proxy = await startConnectProxy(options)
    open.push(proxy.close)
    const clock = new FakeClock()
    process.env.HTTPS_PROXY = `http://me:secret@127.0.0.1:${proxy.port}`
    const directRequest = directFetch({ totalMs: 5000, maxBytes: 1000 }, clock)
    return {
      proxy,
      clock,
      failed: errorOf<Error & { code?: string }>(directRequest('https://idp.example/request', GET)),
    }
  }

  // Shows: plugin 4.37.
  it("a proxy's refusal is never mistaken for an answer of the IdP", async () => {
    const forged = '{"request_uri":"urn:evil","expires_in":60}'
    for (const status of ['201 Created', '302 Found', '400 Bad Request', '407 Proxy Authentication Required']) {
      const answer = `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${forged.length}\r\n\r\n${forged}`
      const error = await (await failThrough({ answer })).failed
      expect(error, status).to.include({ name: 'ForbiddenExchange', code: 'PROXY_REFUSED' })
      expect(`${error?.message} ${error?.stack}`).to.not.include('secret')
    }
  })

  it('a request times out and closes its connection if its proxy never answers', async () => {
    const { proxy, clock, failed } = await failThrough({ answer: null })
    await until('a connection', () => proxy.sockets.size > 0)
    await clock.advance(5_000)
    expect((await failed)?.name).to.equal('TimeoutError')
    for (const socket of proxy.sockets) await once(socket, 'close')
  })

  describe('TLS through a tunnel of a proxy', () => {
    let idp: Idp
    let ca: string
    let remove: () => Promise<void>
    before(async () => {
      const certificates = await makeCertificates({ names: ['idp.example'] })
      idp = await startIdp({ tls: certificates.server })
      const folder = await createClientFolder()
      ca = await folder.write('ca.pem', certificates.ca.cert)
      remove = folder.remove
    })
    after(() => Promise.all([idp.close(), remove()]))

    async function requestThrough(url: string, more: NodeJS.ProcessEnv = {}): Promise<string> {
      const proxy = await startConnectProxy({ to: Number(new URL(idp.issuer).port) })
      open.push(proxy.close)
      // Only a separate process can be made to trust a private authority.
      const script = `import { systemClock } from './plugin/clock.ts'
        import { directFetch } from './plugin/provider/http/direct-fetch.ts'
        const fetch = directFetch({ totalMs: 60000, maxBytes: 100000 }, systemClock)
        const answer = await fetch(process.env.ASKED, { method: 'GET', headers: {}, redirect: 'manual' })
          .then(({ status }) => status, (error) => error.cause?.code ?? error.code)
        console.log(answer)`
      const { stdout } = await promisify(execFile)(
        process.execPath,
        [...TYPESCRIPT, '--input-type=module', '-e', script],
        {
          env: {
            ...process.env,
            NODE_EXTRA_CA_CERTS: ca,
            HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`,
            ASKED: url,
            ...more,
          },
        },
      )
      expect(proxy.tunnels).to.deep.equal([`${new URL(url).hostname}:443`])
      return stdout.trim()
    }

    // Shows: plugin 10.24.
    it('refuses an untrusted IdP behind a proxy even with NODE_TLS_REJECT_UNAUTHORIZED=0', async () => {
      const outcome = await requestThrough('https://idp.example/jwks', {
        NODE_EXTRA_CA_CERTS: '',
        NODE_TLS_REJECT_UNAUTHORIZED: '0',
      })
      expect(outcome).to.equal('UNABLE_TO_VERIFY_LEAF_SIGNATURE')
    })

    it("refuses an IdP's certificate for another name, such as the name of the proxy", async () => {
      for (const url of ['https://other.example/jwks', 'https://192.0.2.1/jwks']) {
        expect(await requestThrough(url), url).to.equal('ERR_TLS_CERT_ALTNAME_INVALID')
      }
    })

    it("refuses an IdP's certificate of an unknown authority, even through a proxy", async () => {
      expect(await requestThrough('https://idp.example/jwks', { NODE_EXTRA_CA_CERTS: '' })).to.equal(
        'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      )
    })
  })
})
