import { expect } from 'chai'
import { objectionToBinding, objectionToTokenHash } from '../../../../plugin/provider/tokens/access-token-rules.ts'

const jwt = (claims: unknown) =>
  ['{"alg":"RS256"}', JSON.stringify(claims), 'x'].map((part) => Buffer.from(part).toString('base64url')).join('.')

describe('validation of access tokens', () => {
  it('accepts an access token if at_hash matches (example of OpenID Connect Core, A.4)', () => {
    const token = 'jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y'
    expect(objectionToTokenHash(token, { at_hash: '77QmUPtjPfzWtF2AnpK9RQ' }, 'RS256')).to.equal(undefined)
    expect(objectionToTokenHash(`${token}x`, { at_hash: '77QmUPtjPfzWtF2AnpK9RQ' }, 'RS256')).to.match(/at_hash/)
    expect(objectionToTokenHash(token, { at_hash: '77QmUPtjPfzWtF2AnpK9RQ' }, 'RS384')).to.match(/at_hash/)
  })

  it('accepts an access token without at_hash, but refuses an invalid at_hash', () => {
    expect(objectionToTokenHash('x', {}, 'RS256')).to.equal(undefined)
    for (const at_hash of ['', null, 7, ['77QmUPtjPfzWtF2AnpK9RQ']]) {
      expect(objectionToTokenHash('x', { at_hash }, 'RS256')).to.match(/at_hash/)
    }
  })

  it('refuses an access token that is bound to another client certificate', () => {
    const bound = (thumbprint: unknown) => jwt({ sub: 'x', cnf: { 'x5t#S256': thumbprint } })
    expect(objectionToBinding(bound('mine'), 'mine')).to.equal(undefined)
    for (const thumbprint of ['other', '', 7]) expect(objectionToBinding(bound(thumbprint), 'mine')).to.match(/bound/)
  })

  it('accepts an access token that is opaque or not bound to a certificate', () => {
    for (const token of ['opaque', '', 'a.b.c', jwt({}), jwt(null), jwt({ cnf: { jkt: 'x' } }), `${jwt({})}.d.e`]) {
      expect(objectionToBinding(token, 'mine'), token).to.equal(undefined)
    }
  })
})
