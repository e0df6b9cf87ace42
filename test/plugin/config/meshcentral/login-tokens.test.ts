import { expect } from 'chai'
import { domainsWithUnlimitedTokens, unlimitedTokensNote } from '../../../../plugin/config/meshcentral/login-tokens.ts'

describe("the checker's note about login tokens without a time limit", () => {
  const domains = { '': {}, Tools: { passwordRequirements: { loginTokens: false } }, local: {}, _old: {} }
  const unlimited = (settings: object = {}, more: object = {}) =>
    domainsWithUnlimitedTokens({ settings, domains, ...more }, ['', 'Tools', '_old'])

  it('login tokens do not count as unlimited in domains that forbid login tokens', () => {
    expect(unlimited()).to.deep.equal([''])
    expect(unlimited({}, { domaindefaults: { PasswordRequirements: { logintokens: false } } })).to.deep.equal([])
    expect(domainsWithUnlimitedTokens(undefined, [''])).to.deep.equal([])
  })

  it('login tokens do not count as unlimited if loginTokenDays is set', () => {
    expect(unlimited({ plugins: { meshcompanion: { loginTokenDays: 30 } } })).to.deep.equal([])
    expect(unlimited({ Plugins: { MeshCompanion: { logintokendays: 30 } } })).to.deep.equal([])
    expect(unlimited({ plugins: { meshcompanion: { loginTokenDays: null } } })).to.deep.equal([''])
  })

  it("the checker's note about unlimited login tokens names domains and loginTokenDays", () => {
    expect(unlimitedTokensNote(['', 'x'])).to.match(
      /in the domains "", "x": .*settings\.plugins\.meshcompanion\.loginTokenDays/,
    )
  })
})
