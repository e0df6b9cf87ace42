import { expect } from 'chai'
import { discoveryAddress, isSameIssuer } from '../../../../plugin/provider/issuer/issuer-name.ts'

const ISSUER = 'https://idp.test/realms/one'
const SUFFIX = '/.well-known/openid-configuration'
const TENANT = '7d2b5b3a-1111-4222-8333-123456789abc'

describe('comparison of configured and published issuers', () => {
  it('a configured issuer may end with a slash or be the discovery URL', () => {
    for (const configured of [ISSUER, `${ISSUER}/`, ISSUER + SUFFIX, `${ISSUER}${SUFFIX}/`]) {
      expect(discoveryAddress(configured)).to.equal(ISSUER + SUFFIX)
      for (const published of [ISSUER, `${ISSUER}/`]) expect(isSameIssuer(configured, published)).to.equal(true)
    }
    expect(discoveryAddress('https://idp.test')).to.equal(`https://idp.test${SUFFIX}`)
  })

  // Shows: plugin 2.8.
  it('issuers that differ in host, port, path, letter case or query do not match', () => {
    const beside = ['two', 'ONE', 'one//', 'one/x', 'one/../one/x', 'one?x', 'one#x'].map(
      (end) => `https://idp.test/realms/${end}`,
    )
    const places = ['https://evil.test', 'http://idp.test', 'https://idp.test:444', 'https://me@idp.test', 'idp.test']
    const otherNames = ['https://idp.test/realms', ISSUER + SUFFIX, '']
    for (const published of [...beside, ...places.map((place) => `${place}/realms/one`), ...otherNames]) {
      expect(isSameIssuer(ISSUER, published), published).to.equal(false)
      expect(isSameIssuer(`${ISSUER}/`, published), published).to.equal(false)
    }
  })

  // Shows: plugin 2.8.
  it("at Microsoft's cloud, an issuer with a domain name matches any directory id", () => {
    const issuerAt = (name: string, host = 'login.microsoftonline.com') => `https://${host}/${name}/v2.0`
    expect(isSameIssuer(issuerAt('contoso.example'), issuerAt(TENANT))).to.equal(true)
    expect(isSameIssuer(issuerAt('common'), issuerAt(TENANT))).to.equal(false)
    expect(isSameIssuer(issuerAt('contoso.example'), issuerAt('{tenantid}'))).to.equal(false)
    expect(isSameIssuer(issuerAt(TENANT), issuerAt(TENANT.replace('7', '8')))).to.equal(false)
    expect(isSameIssuer(issuerAt('contoso.example', 'idp.test'), issuerAt(TENANT, 'idp.test'))).to.equal(false)
    expect(isSameIssuer(issuerAt('contoso.example'), issuerAt(TENANT, 'evil.test'))).to.equal(false)
    for (const host of ['login.microsoftonline.us', 'login.partner.microsoftonline.cn']) {
      expect(isSameIssuer(issuerAt('contoso.example', host), issuerAt(TENANT, host)), host).to.equal(true)
      expect(isSameIssuer(issuerAt('contoso.example', host), issuerAt(TENANT)), host).to.equal(false)
      expect(isSameIssuer(issuerAt('contoso.example'), issuerAt(TENANT, host)), host).to.equal(false)
    }
    const policy = 'https://shop.b2clogin.com/shop.onmicrosoft.com/B2C_1_in/v2.0'
    expect(isSameIssuer(policy, `https://shop.b2clogin.com/${TENANT}/v2.0/`)).to.equal(true)
    expect(isSameIssuer(policy, `https://other.b2clogin.com/${TENANT}/v2.0/`)).to.equal(false)
  })

  // Shows: plugin 2.8.
  it("issuers of Entra External ID match with the tenant's name or id in the host name", () => {
    const issuerAt = (host: string, tenant = TENANT) => `https://${host}.ciamlogin.com/${tenant}/v2.0`
    for (const configured of [
      issuerAt('contoso'),
      `${issuerAt('contoso')}/`,
      issuerAt('contoso') + SUFFIX,
      issuerAt('contoso', TENANT.toUpperCase()),
    ]) {
      expect(isSameIssuer(configured, issuerAt(TENANT)), configured).to.equal(true)
    }
    const otherTenant = TENANT.replace('7', '8')
    for (const published of [
      issuerAt(otherTenant),
      issuerAt(otherTenant, otherTenant),
      issuerAt(TENANT, otherTenant),
      issuerAt('contoso', otherTenant),
      issuerAt('evil'),
      issuerAt(`${TENANT}.evil`),
      issuerAt(TENANT).replace('/v2.0', ''),
      issuerAt(TENANT).replace('/v2.0', '/x/v2.0'),
      issuerAt(TENANT).replace('https:', 'http:'),
      issuerAt(TENANT).replace('.com', '.com:444'),
      issuerAt(TENANT).replace('.com', '.com.evil.test'),
      issuerAt(TENANT).replace('.ciamlogin.com', '.ciamlogin.com@evil.test'),
      `https://login.microsoftonline.com/${TENANT}/v2.0`,
    ]) {
      expect(isSameIssuer(issuerAt('contoso'), published), published).to.equal(false)
    }
    for (const configured of [
      issuerAt('contoso', 'contoso.onmicrosoft.com'),
      issuerAt('a.contoso'),
      issuerAt('contoso').replace('https:', 'http:'),
      issuerAt('contoso').replace('.com', '.com:444'),
      `https://idp.test/${TENANT}/v2.0`,
      `https://xciamlogin.com/${TENANT}/v2.0`,
    ]) {
      expect(isSameIssuer(configured, issuerAt(TENANT)), configured).to.equal(false)
    }
  })
})
