import { X509Certificate } from 'node:crypto'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { makeClientCertificate } from '../../../fixtures/certificate.ts'
import type { Idp } from '../../../fixtures/idp/server.ts'
import { type PrivateIdpOptions, type PrivateIdpSetup, privateIdps } from '../../support/private-idp.ts'
import { whoAmI } from '../../support/sign-in-setup.ts'

/** The IdP binds this client's tokens, and accepts them only on connections with the certificate. */
const BOUND = { tls_client_certificate_bound_access_tokens: true }
const ALIASES = { clientCertificates: 'aliases' } as const

describe("the plugin's client certificate at the IdP", () => {
  let certificate: { readonly cert: string; readonly key: string }
  before(async () => {
    certificate = await makeClientCertificate()
  })
  const startPrivate = privateIdps()
  const start = (options: PrivateIdpOptions) => startPrivate({ tls: ALIASES, certificate: certificate, ...options })
  const login = ({ host, browser }: PrivateIdpSetup) => browser.login(host.url, 'alice', 'alice-demo')
  const jwkOf = (x509: X509Certificate) => ({
    ...x509.publicKey.export({ format: 'jwk' }),
    x5c: [x509.raw.toString('base64')],
  })

  // Shows: plugin 3.17, 3.18, 3.19, 4.32.
  it('sends the client certificate to mtls_endpoint_aliases that the IdP publishes', async () => {
    const setup = await start({ client: BOUND, registered: BOUND, idp: { requirePushedRequests: true } })
    const { browser, host, idp } = setup
    expect((await login(setup)).url, JSON.stringify(host.lines)).to.equal(host.url)
    expect(await whoAmI(browser, host.url)).to.include({ status: 200, name: 'Alice Example' })
    for (const endpoint of ['pushed_authorization_request', 'token', 'userinfo'] as const) {
      expect(idp.requests(endpoint), endpoint).to.equal(1)
    }
    expect(JSON.stringify(host.lines)).to.not.include('PRIVATE KEY')
  })

  for (const method of ['tls_client_auth', 'self_signed_tls_client_auth'] as const) {
    // Shows: plugin 3.20, 3.21, 4.18.
    it(`authenticates by ${method}, without a secret, at every endpoint`, async () => {
      const x509 = new X509Certificate(certificate.cert)
      const members = { client_secret: undefined, token_endpoint_auth_method: method }
      const keyMembers =
        method === 'tls_client_auth' ? { tls_client_auth_subject_dn: x509.subject } : { jwks: { keys: [jwkOf(x509)] } }
      const setup = await start({
        tls: { ...ALIASES, clientAuthority: certificate.cert },
        client: { ...members, require_pushed_authorization_requests: true },
        registered: { ...members, ...keyMembers },
      })
      const { browser, host, idp } = setup
      expect((await login(setup)).url, JSON.stringify(host.lines)).to.equal(host.url)
      expect((await browser.step(`${host.url}api/session`)).body).to.equal('{"state":"active"}')
      await browser.step(`${host.url}logout`)
      for (const endpoint of ['pushed_authorization_request', 'token', 'introspection', 'revocation'] as const) {
        expect(idp.requests(endpoint), endpoint).to.be.above(0)
      }
      expect(host.lines.filter(({ component, level }) => component === 'auth' && level !== 'info')).to.deep.equal([])
    })
  }

  it('sends the client certificate to endpoints for which the IdP publishes no alias', async () => {
    for (const issuer of [() => ({}), (idp: Idp) => ({ userinfo_endpoint: `${idp.issuer}/me` })]) {
      const setup = await start({ client: BOUND, registered: BOUND, tls: { clientCertificates: true }, issuer })
      expect((await login(setup)).url).to.equal(setup.host.url)
    }
  })

  // Shows: plugin 3.17.
  it('prefers a configured mTLS alias to a configured endpoint and a published alias', async () => {
    // The issuer's own port requests no certificate, so tokens cannot be bound there.
    const byHand = (idp: Idp) => ({ token_endpoint: `${idp.issuer}/token` })
    const setup = await start({ client: BOUND, registered: BOUND, issuer: byHand })
    expect((await login(setup)).url).to.match(/failure=provider_refused$/)
    expect(await setup.host.told('login-failed')).to.include({ code: 'token_request_failed' })
    const alias = (idp: Idp) => ({
      token_endpoint: `${idp.issuer}/nowhere`,
      mtls_endpoint_aliases: { token_endpoint: `${idp.issuer}/token` },
    })
    const tls = { clientCertificates: true }
    const aliased = await start({ client: BOUND, registered: BOUND, issuer: alias, tls })
    expect((await login(aliased)).url).to.equal(aliased.host.url)
  })

  // Shows: plugin 4.32, 9.27.
  it('refuses a JWT access token that is bound to another client certificate', async () => {
    const setup = await start({ client: BOUND, registered: BOUND, idp: { claimsIn: 'id_token' } })
    const { browser, host, idp } = setup
    const thumbprint = Buffer.from(new X509Certificate(certificate.cert).fingerprint256.replaceAll(':', ''), 'hex')
    const issueBoundTo = async (certificate: string) => {
      const access_token = await idp.sign({ sub: 'u-1001', cnf: { 'x5t#S256': certificate } })
      idp.faults.set('token', { kind: 'rewrite', body: (genuine) => ({ ...(genuine as object), access_token }) })
      // Removes at_hash, which belongs to the genuine access token.
      idp.forgeTokens((genuine) => idp.sign({ ...decodeJwt(genuine), at_hash: undefined }))
    }
    await issueBoundTo('x'.repeat(43))
    expect((await login(setup)).url).to.match(/failure=login_failed$/)
    expect(await host.told('login-failed')).to.include({
      code: 'access_token_invalid',
      reason: 'the access token is bound to another certificate',
    })
    await issueBoundTo(thumbprint.toString('base64url'))
    expect((await browser.get(`${host.url}auth-oidc`)).url).to.equal(host.url)
  })
})
