import { expect } from 'chai'
import fc from 'fast-check'
import { authenticatedAt, objectionToIdToken } from '../../../../plugin/provider/tokens/id-token-rules.ts'

const NOW = 1_700_000_000
const judge = (claims: Record<string, unknown>) => objectionToIdToken({ iat: NOW, aud: 'me', ...claims }, 'me', NOW)

describe('ID token rules', () => {
  for (const [what, claims, isFine] of [
    ['for this client that was issued just now', {}, true],
    ['that was issued to this client', { azp: 'me' }, true],
    ['for several, issued to this client', { aud: ['me', 'other'], azp: 'me' }, true],
    ['for several, issued to nobody says whom', { aud: ['me', 'other'] }, false],
    ['that was issued to another client', { azp: 'other' }, false],
    ['that was issued to no name', { azp: '' }, false],
    ['that is 10 minutes old', { iat: NOW - 600 }, true],
    ['that is older', { iat: NOW - 601 }, false],
    ['from a minute ahead', { iat: NOW + 60 }, true],
    ['from further ahead', { iat: NOW + 61 }, false],
    ...[undefined, null, `${NOW}`, Number.NaN].map((iat) => [`of the time ${iat}`, { iat }, false] as const),
  ] as const) {
    it(`${isFine ? 'accept' : 'refuse'} a token ${what}`, () =>
      expect(judge(claims)).to.satisfy((said: unknown) => (isFine ? said === undefined : typeof said === 'string')))
  }
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
