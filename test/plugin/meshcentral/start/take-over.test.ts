import { expect } from 'chai'
import type { MeshDomain } from '../../../../plugin/meshcentral/server.ts'
import { pluginConfig, showButton, takeOver } from '../../../../plugin/meshcentral/start/take-over.ts'

const domain = (members: Partial<MeshDomain> = {}): MeshDomain => ({ id: '', url: '/', ...members })

describe("oidc strategies that the plugin takes from MeshCentral's configuration", () => {
  const oidc = { clientid: 'mesh', newaccountsrights: ['fulladministrator'] }
  const domains = () => ({
    '': domain({ authstrategies: { oidc, saml: {} } }),
    sub: domain({ id: 'sub', url: '/sub/', authstrategies: { saml: {} } }),
    files: domain({ id: 'files', share: '/srv', authstrategies: { oidc } }),
    own: domain({ id: 'own', dns: 'own.example.test', title: 'Own', authstrategies: { oidc } }),
  })

  it("takes only the oidc strategy out of MeshCentral's configuration", () => {
    const all = domains()
    expect([...takeOver(all).keys()]).to.deep.equal(['', 'own'])
    expect(all[''].authstrategies).to.deep.equal({ saml: {} })
    expect(all.sub.authstrategies).to.deep.equal({ saml: {} })
  })

  // Shows: plugin 9.45.
  it('each domain gets its own copy of the strategy in domaindefaults', () => {
    const shared = { oidc: { issuer: {}, clientid: 'mesh' }, saml: { entityid: 'mesh' } }
    const all = {
      '': domain({ authstrategies: shared }),
      sub: domain({ id: 'sub', url: '/sub/', authstrategies: shared }),
    }
    const [first, second] = [...takeOver(all).values()]
    expect(first?.oidc).to.deep.equal(shared.oidc)
    expect(second?.oidc).to.deep.equal(shared.oidc)
    expect(first?.oidc).not.to.equal(second?.oidc)
    for (const { authstrategies } of Object.values(all))
      expect(authstrategies).to.deep.equal({ saml: { entityid: 'mesh' } })
    Object.assign(all[''].authstrategies?.saml as object, { entityid: 'changed' })
    expect(all.sub.authstrategies).to.deep.equal({ saml: { entityid: 'mesh' } })
  })

  it('MeshCentral finds no strategies in its configuration if oidc was the only one', () => {
    const all = domains()
    takeOver(all)
    expect(all.own).not.to.have.property('authstrategies')
    expect(all.files.authstrategies).to.deep.equal({ oidc })
  })

  it("the plugin's configuration has the server's address, but no other server setting", () => {
    const config = pluginConfig(takeOver(domains()), { hostName: 'mesh.example.test', port: 8443 })
    expect(config).to.deep.equal({
      settings: { cert: 'mesh.example.test', port: 8443 },
      domains: {
        '': { authStrategies: { oidc: { clientid: 'mesh' } } },
        own: { dns: 'own.example.test', title: 'Own', authStrategies: { oidc: { clientid: 'mesh' } } },
      },
    })
  })

  it("MeshCentral's pages find the login button's settings under lower-case names", () => {
    const all = domains()
    const button = { buttonText: 'Corp', buttonIconUrl: '/corp.png', buttonIconUrl2x: '/2.png' }
    for (const strategy of takeOver(all).values()) showButton(strategy, null, false, button)
    expect(all[''].authstrategies).to.deep.equal({
      saml: {},
      oidc: {
        issuer: {},
        client: {},
        custom: { buttontext: 'Corp', buttoniconurl: '/corp.png', buttoniconurl2x: '/2.png' },
      },
    })
  })

  it("MeshCentral's pages can read preset and group sync settings, but no secret", () => {
    const all = domains()
    for (const strategy of takeOver(all).values()) showButton(strategy, 'azure', true)
    expect(all[''].authstrategies).to.deep.equal({
      saml: {},
      oidc: { issuer: {}, client: {}, custom: { preset: 'azure' }, groups: { sync: true } },
    })
  })
})
