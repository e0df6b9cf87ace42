import { expect } from 'chai'
import { domainsWithUnlimitedTokens, unlimitedTokensNote } from '../../../../plugin/config/meshcentral/login-tokens.ts'

describe('note about login tokens that have no time limit', () => {
  const domains = { '': {}, Tools: { passwordRequirements: { loginTokens: false } }, local: {}, _old: {} }
  const unlimited = (settings: object = {}, more: object = {}) =>
    domainsWithUnlimitedTokens({ settings, domains, ...more }, ['', 'Tools', '_old'])

  it('the note about unlimited login tokens lists no domain that forbids login tokens', () => {
    expect(unlimited()).to.deep.equal([''])
    expect(unlimited({}, { domaindefaults: { PasswordRequirements: { logintokens: false } } })).to.deep.equal([])
    expect(domainsWithUnlimitedTokens(undefined, [''])).to.deep.equal([])
  })

  it('the note about unlimited login tokens lists no domain if loginTokenDays is set', () => {
    expect(unlimited({ plugins: { meshcompanion: { loginTokenDays: 30 } } })).to.deep.equal([])
    expect(unlimited({ Plugins: { MeshCompanion: { logintokendays: 30 } } })).to.deep.equal([])
    expect(unlimited({ plugins: { meshcompanion: { loginTokenDays: null } } })).to.deep.equal([''])
  })

  it('the note about unlimited login tokens names the domains and loginTokenDays', () => {
    expect(unlimitedTokensNote(['', 'x'])).to.match(
      /in the domains "", "x": .*settings\.plugins\.meshcompanion\.loginTokenDays/,
    )
  })
})
