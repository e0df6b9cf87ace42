import { expect } from 'chai'
import { discoveryAddress, isSameIssuer } from '../../../../plugin/provider/issuer/issuer-name.ts'

const ISSUER = 'https://idp.test/realms/one'
const SUFFIX = '/.well-known/openid-configuration'
const TENANT = '7d2b5b3a-1111-4222-8333-123456789abc'

describe('the name of an issuer', () => {
  it('is the same with and without a slash at its end, and as the address of its discovery document', () => {
    for (const configured of [ISSUER, `${ISSUER}/`, ISSUER + SUFFIX, `${ISSUER}${SUFFIX}/`]) {
      expect(discoveryAddress(configured)).to.equal(ISSUER + SUFFIX)
      for (const published of [ISSUER, `${ISSUER}/`]) expect(isSameIssuer(configured, published)).to.equal(true)
    }
    expect(discoveryAddress('https://idp.test')).to.equal(`https://idp.test${SUFFIX}`)
  })

  // Shows: plugin 2.8.
  it('is another one with any other difference', () => {
    const beside = ['two', 'ONE', 'one//', 'one/x', 'one/../one/x', 'one?x', 'one#x'].map(
      (end) => `https://idp.test/realms/${end}`,
    )
    const places = ['https://evil.test', 'http://idp.test', 'https://idp.test:444', 'https://me@idp.test', 'idp.test']
    const others = ['https://idp.test/realms', ISSUER + SUFFIX, '']
    for (const published of [...beside, ...places.map((place) => `${place}/realms/one`), ...others]) {
      expect(isSameIssuer(ISSUER, published), published).to.equal(false)
      expect(isSameIssuer(`${ISSUER}/`, published), published).to.equal(false)
    }
  })

  // Shows: plugin 2.8.
  it("may be a directory's domain name at Microsoft's cloud, which publishes the id of the directory", () => {
    const at = (name: string, host = 'login.microsoftonline.com') => `https://${host}/${name}/v2.0`
    expect(isSameIssuer(at('contoso.example'), at(TENANT))).to.equal(true)
    expect(isSameIssuer(at('common'), at(TENANT))).to.equal(false)
    expect(isSameIssuer(at('contoso.example'), at('{tenantid}'))).to.equal(false)
    expect(isSameIssuer(at(TENANT), at(TENANT.replace('7', '8')))).to.equal(false)
    expect(isSameIssuer(at('contoso.example', 'idp.test'), at(TENANT, 'idp.test'))).to.equal(false)
    expect(isSameIssuer(at('contoso.example'), at(TENANT, 'evil.test'))).to.equal(false)
    for (const host of ['login.microsoftonline.us', 'login.partner.microsoftonline.cn']) {
      expect(isSameIssuer(at('contoso.example', host), at(TENANT, host)), host).to.equal(true)
      expect(isSameIssuer(at('contoso.example', host), at(TENANT)), host).to.equal(false)
      expect(isSameIssuer(at('contoso.example'), at(TENANT, host)), host).to.equal(false)
    }
    const policy = 'https://shop.b2clogin.com/shop.onmicrosoft.com/B2C_1_in/v2.0'
    expect(isSameIssuer(policy, `https://shop.b2clogin.com/${TENANT}/v2.0/`)).to.equal(true)
    expect(isSameIssuer(policy, `https://other.b2clogin.com/${TENANT}/v2.0/`)).to.equal(false)
  })

  // Shows: plugin 2.8.
  it('accepts an External ID issuer by name for one by id of the same directory', () => {
    const at = (host: string, tenant = TENANT) => `https://${host}.ciamlogin.com/${tenant}/v2.0`
    for (const configured of [
      at('contoso'),
      `${at('contoso')}/`,
      at('contoso') + SUFFIX,
      at('contoso', TENANT.toUpperCase()),
    ]) {
      expect(isSameIssuer(configured, at(TENANT)), configured).to.equal(true)
    }
    const other = TENANT.replace('7', '8')
    for (const published of [
      at(other),
      at(other, other),
      at(TENANT, other),
      at('contoso', other),
      at('evil'),
      at(`${TENANT}.evil`),
      at(TENANT).replace('/v2.0', ''),
      at(TENANT).replace('/v2.0', '/x/v2.0'),
      at(TENANT).replace('https:', 'http:'),
      at(TENANT).replace('.com', '.com:444'),
      at(TENANT).replace('.com', '.com.evil.test'),
      at(TENANT).replace('.ciamlogin.com', '.ciamlogin.com@evil.test'),
      `https://login.microsoftonline.com/${TENANT}/v2.0`,
    ]) {
      expect(isSameIssuer(at('contoso'), published), published).to.equal(false)
    }
    for (const configured of [
      at('contoso', 'contoso.onmicrosoft.com'),
      at('a.contoso'),
      at('contoso').replace('https:', 'http:'),
      at('contoso').replace('.com', '.com:444'),
      `https://idp.test/${TENANT}/v2.0`,
      `https://xciamlogin.com/${TENANT}/v2.0`,
    ]) {
      expect(isSameIssuer(configured, at(TENANT)), configured).to.equal(false)
    }
  })
})
