import { expect } from 'chai'
import { makeClientCertificate } from '../../../fixtures/certificate.ts'
import type { Endpoint } from '../../../fixtures/idp/faults.ts'
import type { Idp } from '../../../fixtures/idp/server.ts'
import { type ConnectProxy, type ConnectProxyOptions, startConnectProxy } from '../../support/connect-proxy.ts'
import { privateIdps } from '../../support/private-idp.ts'
import { whoAmI } from '../../support/sign-in-setup.ts'

const ENDPOINTS: readonly Endpoint[] = ['discovery', 'jwks', 'token', 'userinfo', 'introspection', 'revocation']
const BOUND = { tls_client_certificate_bound_access_tokens: true }

describe('HTTP proxy between server and IdP', () => {
  const start = privateIdps()
  let proxy: ConnectProxy
  const startProxy = async (options?: ConnectProxyOptions) => {
    proxy = await startConnectProxy(options)
    return proxy.port
  }
  afterEach(() => proxy.close())
  const requestsOfHost = (idp: Idp) => ENDPOINTS.reduce((sum, endpoint) => sum + idp.requests(endpoint), 0)

  // Shows: plugin 4.37.
  it('tunnels every request to the IdP through HTTPS_PROXY', async () => {
    const port = await startProxy({ credentials: 'me:p@ss word' })
    const { idp, host, browser } = await start({
      tls: { clientCertificates: true },
      client: BOUND,
      registered: BOUND,
      certificate: await makeClientCertificate(),
      env: { HTTPS_PROXY: `http://me:p%40ss%20word@127.0.0.1:${port}`, NO_PROXY: 'elsewhere.example' },
    })
    const page = await browser.login(host.url, 'alice', 'alice-demo')
    expect(page.url, JSON.stringify(host.lines)).to.equal(host.url)
    expect(await whoAmI(browser, host.url)).to.include({ status: 200, name: 'Alice Example' })
    await browser.step(`${host.url}logout`)
    expect(requestsOfHost(idp)).to.be.above(4)
    expect(proxy.tunnels).to.deep.equal(Array(requestsOfHost(idp)).fill(new URL(idp.issuer).host))
    expect(JSON.stringify(host.lines)).to.not.match(/p@ss|p%40ss|bWU6/)
  })

  it('sends plain HTTP requests to the IdP through HTTP_PROXY', async () => {
    const port = await startProxy()
    const { idp, host, browser } = await start({ tls: false, env: { HTTP_PROXY: `http://127.0.0.1:${port}` } })
    expect((await browser.login(host.url, 'alice', 'alice-demo')).url).to.equal(host.url)
    expect(proxy.relayed).to.have.length(requestsOfHost(idp))
    expect(proxy.relayed).to.include(`${idp.issuer}/token`)
    expect(proxy.tunnels).to.deep.equal([])
  })
})
