import { X509Certificate } from 'node:crypto'
import { expect } from 'chai'
import { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { type Certificates, makeCertificates, makeClientCertificate } from '../../../fixtures/certificate.ts'
import { type Idp, type IdpOptions, startIdp } from '../../../fixtures/idp/server.ts'
import { type ClientFolder, createClientFolder } from '../../support/client-keys.ts'
import { freePort, type HostProcess, startHostProcess } from '../../support/host-process.ts'
import { CLIENT, whoAmI } from '../../support/sign-in-setup.ts'

/** The IdP binds the tokens of this client, and takes them only over connections that show the certificate. */
const BOUND = { tls_client_certificate_bound_access_tokens: true }

/** Only a process of its own can be made to trust a private authority, by NODE_EXTRA_CA_CERTS. */
describe('a client certificate', () => {
  let certificates: Certificates
  let own: { readonly cert: string; readonly key: string }
  before(async () => {
    certificates = await makeCertificates()
    own = await makeClientCertificate()
  })
  const open: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close()
  })

  interface Lab {
    readonly idp: Idp
    readonly host: HostProcess
    readonly browser: ScriptedBrowser
    readonly folder: ClientFolder
  }

  async function start(options: {
    readonly idp?: IdpOptions
    readonly client?: Record<string, unknown>
    readonly registered?: Record<string, unknown>
    readonly issuer?: (idp: Idp) => object
    readonly withCertificate?: boolean
  }): Promise<Lab> {
    const tls = { ...certificates.server, clientCertificates: 'aliases' } as const
    const idp = await startIdp({ claimsIn: 'userinfo', tls, ...options.idp })
    open.push(idp.close)
    const folder = await createClientFolder()
    open.push(folder.remove)
    const credentials = {
      tlscertfile: await folder.write('cert.pem', own.cert),
      tlskeyfile: await folder.write('key.pem', own.key),
    }
    const port = await freePort()
    const callback = `http://127.0.0.1:${port}/auth-oidc-callback`
    const oidc = {
      issuer: { issuer: idp.issuer, ...options.issuer?.(idp) },
      client: { ...CLIENT, ...options.client, redirect_uri: callback },
      newAccounts: true,
    }
    const domain = {
      authStrategies: { oidc },
      ...(options.withCertificate === false ? {} : { oidccredentials: credentials }),
    }
    const config = JSON.stringify({ settings: { cert: '127.0.0.1' }, domains: { '': domain } })
    await idp.addClient({ ...CLIENT, redirect_uris: [callback], ...options.registered })
    const host = await startHostProcess(await folder.write('config.json', config), port, {
      NODE_EXTRA_CA_CERTS: await folder.write('ca.pem', certificates.ca.cert),
    })
    open.push(host.stop)
    const browser = new ScriptedBrowser({ ca: certificates.ca.cert })
    open.push(() => browser.close())
    return { idp, host, browser, folder }
  }
  const failureOf = ({ host }: Lab) => host.lines.findLast(({ event }) => event === 'login-failed')

  it('is shown at the aliases of the endpoints, so that bound access tokens can be had and used', async () => {
    const lab = await start({ client: BOUND, registered: BOUND, idp: { requirePushedRequests: true } })
    const { browser, host, idp } = lab
    expect((await browser.login(host.url, 'alice', 'alice-demo')).url, JSON.stringify(failureOf(lab))).to.equal(
      host.url,
    )
    expect(await whoAmI(browser, host.url)).to.include({ status: 200, name: 'Alice Example' })
    for (const endpoint of ['pushed_authorization_request', 'token', 'userinfo'] as const) {
      expect(idp.requests(endpoint), endpoint).to.equal(1)
    }
    expect(JSON.stringify(host.lines)).to.not.include('PRIVATE KEY')
  })

  for (const method of ['tls_client_auth', 'self_signed_tls_client_auth'] as const) {
    it(`is how this server authenticates by ${method} at every endpoint, without a secret`, async () => {
      const x509 = new X509Certificate(own.cert)
      const jwk = { ...x509.publicKey.export({ format: 'jwk' }), x5c: [x509.raw.toString('base64')] }
      const tls = { ...certificates.server, clientCertificates: 'aliases', clientAuthority: own.cert } as const
      const lab = await start({
        idp: { tls },
        client: {
          client_secret: undefined,
          token_endpoint_auth_method: method,
          require_pushed_authorization_requests: true,
        },
        registered: {
          client_secret: undefined,
          token_endpoint_auth_method: method,
          ...(method === 'tls_client_auth' ? { tls_client_auth_subject_dn: x509.subject } : { jwks: { keys: [jwk] } }),
        },
      })
      const { browser, host, idp } = lab
      const page = await browser.login(host.url, 'alice', 'alice-demo')
      expect(page.url, JSON.stringify(failureOf(lab))).to.equal(host.url)
      expect((await browser.step(`${host.url}api/session`)).body).to.equal('{"state":"active"}')
      await browser.step(`${host.url}logout`)
      for (const endpoint of ['pushed_authorization_request', 'token', 'introspection', 'revocation'] as const) {
        expect(idp.requests(endpoint), endpoint).to.be.above(0)
      }
      expect(host.lines.filter(({ component, level }) => component === 'auth' && level !== 'info')).to.deep.equal([])
    })
  }

  it('of somebody else is refused where it is how this server authenticates', async () => {
    const other = new X509Certificate((await makeClientCertificate()).cert)
    const jwk = { ...other.publicKey.export({ format: 'jwk' }), x5c: [other.raw.toString('base64')] }
    const method = { token_endpoint_auth_method: 'self_signed_tls_client_auth', client_secret: undefined }
    const lab = await start({ client: method, registered: { ...method, jwks: { keys: [jwk] } } })
    expect((await lab.browser.login(lab.host.url, 'alice', 'alice-demo')).url).to.match(/failure=provider_refused$/)
    expect(failureOf(lab)).to.include({ code: 'token_request_failed', error: 'invalid_client' })
  })

  it('is what such a login depends on: without it the IdP refuses', async () => {
    const lab = await start({ registered: BOUND, withCertificate: false })
    const { browser, host } = lab
    expect((await browser.login(host.url, 'alice', 'alice-demo')).url).to.match(/failure=provider_refused$/)
    expect(failureOf(lab)).to.include({ code: 'token_request_failed' })
  })

  it('is shown where there are no aliases too, and at endpoints that were set by hand', async () => {
    const tls = { ...certificates.server, clientCertificates: true } as const
    for (const issuer of [() => ({}), (idp: Idp) => ({ userinfo_endpoint: `${idp.issuer}/me` })]) {
      const lab = await start({ client: BOUND, registered: BOUND, idp: { tls }, issuer })
      const { browser, host } = lab
      expect((await browser.login(host.url, 'alice', 'alice-demo')).url).to.equal(host.url)
    }
  })

  it('does not lead past an endpoint that was set by hand, but to an alias that was', async () => {
    // At the issuer's own port no certificate is asked for: tokens cannot be bound there.
    const byHand = (idp: Idp) => ({ token_endpoint: `${idp.issuer}/token` })
    const lab = await start({ client: BOUND, registered: BOUND, issuer: byHand })
    expect((await lab.browser.login(lab.host.url, 'alice', 'alice-demo')).url).to.match(/failure=provider_refused$/)
    expect(failureOf(lab)).to.include({ code: 'token_request_failed' })
    const alias = (idp: Idp) => ({
      token_endpoint: `${idp.issuer}/nowhere`,
      mtls_endpoint_aliases: { token_endpoint: `${idp.issuer}/token` },
    })
    const tls = { ...certificates.server, clientCertificates: true } as const
    const other = await start({ client: BOUND, registered: BOUND, issuer: alias, idp: { tls } })
    expect((await other.browser.login(other.host.url, 'alice', 'alice-demo')).url).to.equal(other.host.url)
  })

  it('is what a readable access token must be bound to', async () => {
    const { browser, host, idp } = await start({ client: BOUND, registered: BOUND, idp: { claimsIn: 'id_token' } })
    const thumbprint = Buffer.from(new X509Certificate(own.cert).fingerprint256.replaceAll(':', ''), 'hex')
    const token = (cnf: object) => idp.sign({ sub: 'u-1001', cnf })
    const [foreign, mine] = [
      await token({ 'x5t#S256': 'x'.repeat(43) }),
      await token({ 'x5t#S256': thumbprint.toString('base64url') }),
    ]
    const issue = (access_token: string) => {
      idp.faults.set('token', { kind: 'rewrite', body: (genuine) => ({ ...(genuine as object), access_token }) })
      // Of the genuine access token.
      idp.forgeTokens((genuine) => {
        const claims = JSON.parse(Buffer.from(genuine.split('.')[1]!, 'base64url').toString())
        return idp.sign({ ...claims, at_hash: undefined })
      })
    }
    issue(foreign)
    expect((await browser.login(host.url, 'alice', 'alice-demo')).url).to.match(/failure=login_failed$/)
    expect(host.lines.findLast(({ event }) => event === 'login-failed')).to.include({
      code: 'access_token_invalid',
      reason: 'the access token is bound to another certificate',
    })
    issue(mine)
    expect((await browser.get(`${host.url}auth-oidc`)).url).to.equal(host.url)
  })
})
