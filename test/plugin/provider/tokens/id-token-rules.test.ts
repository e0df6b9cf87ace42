import { expect } from 'chai'
import fc from 'fast-check'
import { authenticatedAt, objectionToIdToken } from '../../../../plugin/provider/tokens/id-token-rules.ts'

const NOW = 1_700_000_000
const judge = (claims: Record<string, unknown>) => objectionToIdToken({ iat: NOW, aud: 'me', ...claims }, 'me', NOW)

describe('validation of ID tokens', () => {
  for (const [condition, claims, isFine] of [
    ['for this client, issued just now', {}, true],
    ['issued to this client', { azp: 'me' }, true],
    ['for several clients, issued to this one', { aud: ['me', 'other'], azp: 'me' }, true],
    ['for several clients, without azp', { aud: ['me', 'other'] }, false],
    ['issued to another client', { azp: 'other' }, false],
    ['with an empty azp', { azp: '' }, false],
    ['issued 10 minutes ago', { iat: NOW - 600 }, true],
    ['issued more than 10 minutes ago', { iat: NOW - 601 }, false],
    ['issued a minute ahead', { iat: NOW + 60 }, true],
    ['issued more than a minute ahead', { iat: NOW + 61 }, false],
    ...[undefined, null, `${NOW}`, Number.NaN].map((iat) => [`with iat ${iat}`, { iat }, false] as const),
  ] as const) {
    it(`${isFine ? 'accepts' : 'refuses'} an ID token ${condition}`, () =>
      expect(judge(claims)).to.satisfy((reason: unknown) =>
        isFine ? reason === undefined : typeof reason === 'string',
      ))
  }
})

describe("time of a user's authentication", () => {
  it("dates an authentication by this server's clock if the IdP's clock is ahead", () => {
    expect(authenticatedAt({ iat: 1_000_005, auth_time: 1_000_000 }, 900_000_000)).to.equal(900_000_000 - 6_000)
  })

  it('never dates an authentication later than auth_time, even if the ID token is old', () => {
    expect(authenticatedAt({ iat: 900_000, auth_time: 900_000 }, 900_300_000)).to.equal(900_000_000)
  })

  it('the time of authentication is unknown without auth_time or iat', () => {
    expect(authenticatedAt({ iat: 1_000_000 }, 0)).to.equal(null)
    expect(authenticatedAt({ iat: 1_000_000, auth_time: '999999' }, 0)).to.equal(null)
    expect(authenticatedAt({ auth_time: 1_000_000 }, 0)).to.equal(null)
  })

  it('never dates an authentication later than it was, for any IdP clock error', () => {
    const times = fc.record({
      authenticated: fc.integer({ min: 1_000_000_000_000, max: 2_000_000_000_000 }),
      thought: fc.integer({ min: 0, max: 600_000 }),
      madeBefore: fc.integer({ min: 0, max: 600_000 }),
      aheadOfUs: fc.integer({ min: -60_000, max: 60_000 }),
    })
    fc.assert(
      fc.property(times, ({ authenticated, thought, madeBefore, aheadOfUs }) => {
        // The token is issued on request by a wrong clock, or earlier by a correct one.
        for (const [early, offset] of [
          [0, aheadOfUs],
          [madeBefore, 0],
        ] as const) {
          const issued = authenticated + thought
          const iat = Math.floor((issued + offset) / 1000)
          const claims = { iat, auth_time: Math.floor((authenticated + offset) / 1000) }
          expect(authenticatedAt(claims, issued + early)).to.be.at.most(authenticated)
        }
      }),
    )
  })
})
