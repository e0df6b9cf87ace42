import { expect } from 'chai'
import { privateIdps } from '../../support/private-idp.ts'
import { whoAmI } from '../../support/sign-in-setup.ts'

const UNTRUSTED = 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'

/** The IdP sends the intermediate certificate; only the root is unknown. */
describe('IdP with a certificate of a private authority', () => {
  const start = privateIdps()

  // Shows: plugin 8.4.
  it('logs the error of an untrusted IdP certificate, but does not show it to the user', async () => {
    const { host, browser } = await start({ intermediate: true, isTrusted: false })
    expect(await host.told('discovery-failed')).to.include({ msg: `OIDC: Discovery failed. ${UNTRUSTED}` })
    const page = await browser.get(`${host.url}auth-oidc`)
    expect(page.url).to.equal(`${host.url}login?failure=provider_unreachable`)
    expect(page.text).to.not.include('CERT')
    const line = await host.told('login-failed')
    expect(line).to.include({ component: 'auth', code: 'discovery_failed', causeCode: UNTRUSTED })
    expect(line.msg).to.include('OIDC: Discovery failed.').and.include('NODE_EXTRA_CA_CERTS')
  })

  // Shows: plugin 8.4.
  it("a login works if NODE_EXTRA_CA_CERTS names the IdP's certificate authority", async () => {
    const { host, browser } = await start({ intermediate: true })
    expect((await browser.login(host.url, 'alice', 'alice-demo')).url).to.equal(host.url)
    expect(await whoAmI(browser, host.url)).to.include({ status: 200, id: '~oidc:u-1001' })
    expect(host.lines.some(({ event }) => event === 'discovery-failed')).to.equal(false)
  })

  // Shows: plugin 10.24.
  it('refuses an untrusted IdP even with NODE_TLS_REJECT_UNAUTHORIZED=0, and logs why', async () => {
    const { host, idp } = await start({ isTrusted: false, env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' } })
    const { msg } = await host.told('tls-verification-kept')
    expect(msg).to.include('NODE_TLS_REJECT_UNAUTHORIZED').and.include('NODE_EXTRA_CA_CERTS')
    expect((await host.told('discovery-failed')).causeCode).to.match(/UNABLE_TO_VERIFY_LEAF_SIGNATURE|SELF_SIGNED/)
    expect(idp.requests('discovery')).to.equal(0)
  })
})
