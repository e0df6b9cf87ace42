import { expect } from 'chai'
import { objectionToIdToken } from '../../../../plugin/provider/tokens/id-token-rules.ts'

const NOW = 1_700_000_000
const judge = (claims: Record<string, unknown>) => objectionToIdToken({ iat: NOW, aud: 'me', ...claims }, 'me', NOW)

describe('ID token rules', () => {
  it('accept a token for this client that was issued just now', () => {
    expect(judge({})).to.equal(undefined)
    expect(judge({ azp: 'me' })).to.equal(undefined)
    expect(judge({ aud: ['me', 'other'], azp: 'me' })).to.equal(undefined)
  })

  it('refuse an iat over 10 minutes old, over a minute ahead, or missing', () => {
    expect(judge({ iat: NOW - 600 })).to.equal(undefined)
    expect(judge({ iat: NOW - 601 })).to.be.a('string')
    expect(judge({ iat: NOW + 60 })).to.equal(undefined)
    expect(judge({ iat: NOW + 61 })).to.be.a('string')
    for (const iat of [undefined, null, `${NOW}`, Number.NaN]) expect(judge({ iat })).to.be.a('string')
  })

  it('refuse a token that was issued to another client', () => {
    expect(judge({ azp: 'other' })).to.be.a('string')
    expect(judge({ azp: '' })).to.be.a('string')
    expect(judge({ aud: ['me', 'other'] })).to.be.a('string')
  })
})
