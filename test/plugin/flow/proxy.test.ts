import { expect } from 'chai'
import { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { type Certificates, makeCertificates, makeClientCertificate } from '../../../fixtures/certificate.ts'
import type { Endpoint } from '../../../fixtures/idp/faults.ts'
import { type Idp, type IdpOptions, startIdp } from '../../../fixtures/idp/server.ts'
import { createClientFolder } from '../../support/client-keys.ts'
import { type ConnectProxy, type ConnectProxyOptions, startConnectProxy } from '../../support/connect-proxy.ts'
import { freePort, startHostProcess } from '../../support/host-process.ts'
import { CLIENT, whoAmI } from '../../support/sign-in-setup.ts'

const ASKED: readonly Endpoint[] = ['discovery', 'jwks', 'token', 'userinfo', 'introspection', 'revocation']
const BOUND = { tls_client_certificate_bound_access_tokens: true }

/** Only a process of its own has an environment of its own. */
describe('a proxy on the way to the IdP', () => {
  let certificates: Certificates
  before(async () => {
    certificates = await makeCertificates()
  })
  const open: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close()
  })

  async function start(options: {
    readonly idp: IdpOptions
    readonly proxy?: ConnectProxyOptions
    readonly env: (proxy: ConnectProxy) => Record<string, string>
    readonly certificate?: boolean
  }) {
    const idp = await startIdp({ claimsIn: 'userinfo', ...options.idp })
    open.push(idp.close)
    const proxy = await startConnectProxy(options.proxy)
    open.push(proxy.close)
    const folder = await createClientFolder()
    open.push(folder.remove)
    const own = await makeClientCertificate()
    const credentials = {
      tlscertfile: await folder.write('cert.pem', own.cert),
      tlskeyfile: await folder.write('key.pem', own.key),
    }
    const port = await freePort()
    const redirect = `http://127.0.0.1:${port}/auth-oidc-callback`
    const bound = options.certificate ? BOUND : {}
    const oidc = { issuer: idp.issuer, client: { ...CLIENT, ...bound, redirect_uri: redirect }, newAccounts: true }
    const domain = { authStrategies: { oidc }, ...(options.certificate ? { oidccredentials: credentials } : {}) }
    await idp.addClient({ ...CLIENT, ...bound, redirect_uris: [redirect] })
    const config = JSON.stringify({ settings: { cert: '127.0.0.1' }, domains: { '': domain } })
    const host = await startHostProcess(await folder.write('config.json', config), port, {
      NODE_EXTRA_CA_CERTS: await folder.write('ca.pem', certificates.ca.cert),
      ...options.env(proxy),
    })
    open.push(host.stop)
    const browser = new ScriptedBrowser({ ca: certificates.ca.cert })
    open.push(() => browser.close())
    return { idp, proxy, host, browser }
  }
  const requestsOfHost = (idp: Idp) => ASKED.reduce((sum, endpoint) => sum + idp.requests(endpoint), 0)

  for (const name of ['HTTPS_PROXY', 'https_proxy']) {
    it(`is asked for a tunnel by ${name} for every request, with a private authority and a client certificate`, async () => {
      const { idp, proxy, host, browser } = await start({
        idp: { tls: { ...certificates.server, clientCertificates: true } },
        proxy: { credentials: 'me:p@ss word' },
        env: ({ port }) => ({ [name]: `http://me:p%40ss%20word@127.0.0.1:${port}`, NO_PROXY: 'elsewhere.example' }),
        certificate: true,
      })
      const page = await browser.login(host.url, 'alice', 'alice-demo')
      expect(page.url, JSON.stringify(host.lines)).to.equal(host.url)
      expect(await whoAmI(browser, host.url)).to.include({ status: 200, name: 'Alice Example' })
      await browser.step(`${host.url}logout`)
      expect(requestsOfHost(idp)).to.be.above(4)
      expect(proxy.tunnels).to.deep.equal(Array(requestsOfHost(idp)).fill(new URL(idp.issuer).host))
      expect(JSON.stringify(host.lines)).to.not.match(/p@ss|p%40ss|bWU6/)
    })
  }

  it('is asked for whole addresses by HTTP_PROXY where there is no TLS, on loopback', async () => {
    const { idp, proxy, host, browser } = await start({
      idp: {},
      env: ({ port }) => ({ HTTP_PROXY: `http://127.0.0.1:${port}` }),
    })
    expect((await browser.login(host.url, 'alice', 'alice-demo')).url).to.equal(host.url)
    expect(proxy.relayed).to.have.length(requestsOfHost(idp))
    expect(proxy.relayed).to.include(`${idp.issuer}/token`)
    expect(proxy.tunnels).to.deep.equal([])
  })

  it('is passed by where NO_PROXY says so', async () => {
    const { proxy, host, browser } = await start({
      idp: { tls: certificates.server },
      env: ({ port }) => ({ HTTPS_PROXY: `http://127.0.0.1:${port}`, NO_PROXY: 'localhost,127.0.0.1' }),
    })
    expect((await browser.login(host.url, 'alice', 'alice-demo')).url).to.equal(host.url)
    expect(proxy.tunnels).to.deep.equal([])
  })

  it('that refuses is named in the log, without what it was shown', async () => {
    const { idp, host, browser } = await start({
      idp: { tls: certificates.server },
      proxy: { credentials: 'somebody:else' },
      env: ({ port }) => ({ HTTPS_PROXY: `http://me:wrong-word@127.0.0.1:${port}` }),
    })
    expect((await browser.get(`${host.url}auth-oidc`)).url).to.match(/failure=provider_unreachable$/)
    expect(host.lines.find(({ event }) => event === 'discovery-failed')).to.include({ causeCode: 'PROXY_REFUSED' })
    expect(requestsOfHost(idp)).to.equal(0)
    expect(JSON.stringify(host.lines)).to.not.include('wrong-word')
  })
})
