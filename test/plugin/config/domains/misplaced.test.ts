import { expect } from 'chai'
import { findMisplaced } from '../../../../plugin/config/domains/misplaced.ts'
import { readDomains } from '../../../../plugin/mount/read-domains.ts'
import { MINIMAL } from '../one-domain.ts'

const STRATEGIES = { oidc: MINIMAL }
const paths = (config: unknown) => findMisplaced(config).map(({ path }) => path)
const inDomain = (domain: object) => ({ settings: { cert: 'mesh.example.com' }, domains: { '': domain } })

describe('single sign-on where nothing reads it', () => {
  it('is named with its place, and what the name was probably meant to be', () => {
    for (const name of ['authStrategy', 'AUTHSTRATEGY', 'authStratgies', 'auth_strategies', 'strategies']) {
      const [warning, ...others] = findMisplaced(inDomain({ [name]: STRATEGIES }))
      expect(others).to.deep.equal([])
      expect(warning).to.include({
        code: 'misplaced',
        path: `domains[""].${name}`,
        remedy: 'Did you mean "authStrategies"?',
      })
    }
    const [warning] = findMisplaced(inDomain({ authStrategies: { odic: MINIMAL } }))
    expect(warning).to.include({ path: 'domains[""].authStrategies.odic', remedy: 'Did you mean "oidc"?' })
  })

  it('is named wherever else it stands', () => {
    for (const [config, place] of [
      [inDomain({ oidc: MINIMAL }), 'domains[""].oidc'],
      [inDomain({ OIDC: MINIMAL }), 'domains[""].OIDC'],
      [inDomain({ authStrategies: MINIMAL }), 'domains[""].authStrategies'],
      [inDomain({ authStrategies: { clientid: 'mesh' } }), 'domains[""].authStrategies'],
      [{ settings: { oidc: MINIMAL }, domains: {} }, 'settings.oidc'],
      [{ settings: { authStrategies: STRATEGIES }, domains: {} }, 'settings.authStrategies'],
      [{ oidc: MINIMAL, settings: {}, domains: {} }, 'oidc'],
      [{ authStrategies: STRATEGIES, settings: {}, domains: {} }, 'authStrategies'],
      [{ settings: {}, domains: { oidc: MINIMAL } }, 'domains.oidc'],
      [{ settings: {}, domains: { authStrategies: STRATEGIES } }, 'domains.authStrategies'],
    ] as const) {
      expect(paths(config), place).to.deep.equal([place])
      expect(findMisplaced(config)[0]?.remedy).to.match(/^Move it to domains\.<key>\.authStrategies\.oidc;/)
    }
  })

  it('is nothing that stands where it belongs, nor what other servers keep beside it', () => {
    for (const config of [
      inDomain({ authStrategies: STRATEGIES }),
      inDomain({ AuthStrategies: { OIDC: MINIMAL, saml: { issuer: 'x' }, google: { clientid: 'x' } } }),
      inDomain({ authLog: {}, auth: 'ldap', strategy: 'x', authStrategy: 'x', oidcCredentials: {} }),
      {
        settings: { oidcLogin: true, oidc: true },
        domains: { oidc: { dns: 'a.example', authStrategies: STRATEGIES } },
      },
      { domains: { oidc: { title: 'Lab' } } },
      { domains: 5, settings: null },
      { domains: { '': null, a: [] } },
      null,
      [],
    ]) {
      expect(paths(config), JSON.stringify(config)).to.deep.equal([])
    }
  })

  it('is named beside the domains that have it right', () => {
    const config = {
      settings: { cert: 'mesh.example.com' },
      domains: { '': { authStrategies: STRATEGIES }, b: { dns: 'b.example.com', authStrategy: STRATEGIES } },
    }
    expect(readDomains(config).domains.map(({ key }) => key)).to.deep.equal([''])
    expect(paths(config)).to.deep.equal(['domains.b.authStrategy'])
  })
})
