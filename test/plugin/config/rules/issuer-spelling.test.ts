import { expect } from 'chai'
import fc from 'fast-check'
import { isSameSpelling, issuerSpelling } from '../../../../plugin/config/rules/issuer-spelling.ts'

describe('issuers that differ only in spelling', () => {
  for (const [first, second] of [
    ['https://idp.example/realms/a', 'https://idp.example/realms/a/'],
    ['https://idp.example', 'https://idp.example/'],
    ['https://IDP.example/realms/a', 'https://idp.example:443/realms/a'],
    ['https://idp.example/realms/a', 'https://idp.example/realms/a/.well-known/openid-configuration'],
    ['accounts.google.com', 'https://accounts.google.com'],
    ['not an address', 'not an address'],
  ] as const) {
    it(`the issuer ${first} equals ${second}`, () => expect(isSameSpelling(first, second)).to.equal(true))
  }

  for (const [first, second] of [
    ['https://idp.example/realms/a', 'https://idp.example/realms/A'],
    ['https://idp.example/realms/a', 'https://idp.example/realms/b'],
    ['https://idp.example', 'http://idp.example'],
    ['https://idp.example', 'https://idp.example:8443'],
    ['https://idp.example', 'https://idp.example.evil.test'],
    ['https://idp.example', 'https://idp.example?tenant=b'],
    ['https://idp.example', 'https://user@idp.example'],
    ['https://\u212aeycloak.example/\u212a', 'https://keycloak.example/k'],
    ['', 'https://idp.example'],
  ] as const) {
    it(`${first || 'no issuer'} differs from the issuer ${second}`, () =>
      expect(isSameSpelling(first, second)).to.equal(false))
  }

  // Shows: plugin 5.13.
  it('normalizing an issuer that is already normalized changes nothing', () => {
    const texts = fc.oneof(fc.webUrl({ withQueryParameters: true, withFragments: true }), fc.string())
    fc.assert(fc.property(texts, (text) => issuerSpelling(issuerSpelling(text)) === issuerSpelling(text)))
  })
})
