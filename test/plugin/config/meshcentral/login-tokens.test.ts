import { expect } from 'chai'
import { domainsWithUnlimitedTokens, unlimitedTokensNote } from '../../../../plugin/config/meshcentral/login-tokens.ts'

describe('login tokens without a limit', () => {
  const domains = { '': {}, Tools: { passwordRequirements: { loginTokens: false } }, local: {}, _old: {} }
  const found = (settings: object = {}, more: object = {}) =>
    domainsWithUnlimitedTokens({ settings, domains, ...more }, ['', 'Tools', '_old'])

  it('are in each domain with single sign-on that does not switch them off', () => {
    expect(found()).to.deep.equal([''])
    expect(found({}, { domaindefaults: { PasswordRequirements: { logintokens: false } } })).to.deep.equal([])
    expect(domainsWithUnlimitedTokens(undefined, [''])).to.deep.equal([])
  })

  it('are in none once loginTokenDays is set, in whatever letter case', () => {
    expect(found({ plugins: { meshcompanion: { loginTokenDays: 30 } } })).to.deep.equal([])
    expect(found({ Plugins: { MeshCompanion: { logintokendays: 30 } } })).to.deep.equal([])
    expect(found({ plugins: { meshcompanion: { loginTokenDays: null } } })).to.deep.equal([''])
  })

  it('are told with the domains and the setting that limits them', () => {
    expect(unlimitedTokensNote(['', 'x'])).to.match(/in "", "x": .*settings\.plugins\.meshcompanion\.loginTokenDays/)
  })
})
