import { expect } from 'chai'
import { domainsWithUnlimitedTokens, unlimitedTokensNote } from '../../../../plugin/config/meshcentral/login-tokens.ts'

describe('note about unlimited login tokens', () => {
  const domains = { '': {}, Tools: { passwordRequirements: { loginTokens: false } }, local: {}, _old: {} }
  const unlimited = (settings: object = {}, more: object = {}) =>
    domainsWithUnlimitedTokens({ settings, domains, ...more }, ['', 'Tools', '_old'])

  it('the note lists each single sign-on domain in which login tokens are possible', () => {
    expect(unlimited()).to.deep.equal([''])
    expect(unlimited({}, { domaindefaults: { PasswordRequirements: { logintokens: false } } })).to.deep.equal([])
    expect(domainsWithUnlimitedTokens(undefined, [''])).to.deep.equal([])
  })

  it('the note lists no domain if loginTokenDays is set, in any letter case', () => {
    expect(unlimited({ plugins: { meshcompanion: { loginTokenDays: 30 } } })).to.deep.equal([])
    expect(unlimited({ Plugins: { MeshCompanion: { logintokendays: 30 } } })).to.deep.equal([])
    expect(unlimited({ plugins: { meshcompanion: { loginTokenDays: null } } })).to.deep.equal([''])
  })

  it('the note names its domains, and the setting that limits login tokens', () => {
    expect(unlimitedTokensNote(['', 'x'])).to.match(/in "", "x": .*settings\.plugins\.meshcompanion\.loginTokenDays/)
  })
})
