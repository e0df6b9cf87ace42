import { expect } from 'chai'
import fc from 'fast-check'
import { authenticatedAt, objectionToIdToken } from '../../../../plugin/provider/tokens/id-token-rules.ts'

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

describe('when a person authenticated', () => {
  it('is told by the age that the IdP gives, whatever its clock says', () => {
    expect(authenticatedAt({ iat: 1_000_005, auth_time: 1_000_000 }, 900_000_000)).to.equal(900_000_000 - 6_000)
  })

  it('is at the latest what the IdP says, for a token that was made long before it was fetched', () => {
    expect(authenticatedAt({ iat: 900_000, auth_time: 900_000 }, 900_300_000)).to.equal(900_000_000)
  })

  it('is unknown where the IdP does not say', () => {
    expect(authenticatedAt({ iat: 1_000_000 }, 0)).to.equal(null)
    expect(authenticatedAt({ iat: 1_000_000, auth_time: '999999' }, 0)).to.equal(null)
    expect(authenticatedAt({ auth_time: 1_000_000 }, 0)).to.equal(null)
  })

  it('is never later than it was', () => {
    const times = fc.record({
      authenticated: fc.integer({ min: 1_000_000_000_000, max: 2_000_000_000_000 }),
      thought: fc.integer({ min: 0, max: 600_000 }),
      madeBefore: fc.integer({ min: 0, max: 600_000 }),
      aheadOfUs: fc.integer({ min: -60_000, max: 60_000 }),
    })
    fc.assert(
      fc.property(times, ({ authenticated, thought, madeBefore, aheadOfUs }) => {
        // Made when it is asked for, by whatever clock; or before that, by the same one.
        for (const [early, offset] of [
          [0, aheadOfUs],
          [madeBefore, 0],
        ] as const) {
          const made = authenticated + thought
          const iat = Math.floor((made + offset) / 1000)
          const claims = { iat, auth_time: Math.floor((authenticated + offset) / 1000) }
          expect(authenticatedAt(claims, made + early)).to.be.at.most(authenticated)
        }
      }),
    )
  })
})
