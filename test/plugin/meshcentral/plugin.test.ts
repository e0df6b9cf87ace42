import { expect } from 'chai'
import { meshcompanion } from '../../../plugin/meshcentral.ts'
import { standIn } from './stand-in.ts'

describe('the plugin of one MeshCentral', () => {
  it('stays the first that was loaded: another load leaves the button alone, and says that a restart is needed', () => {
    const { server, log } = standIn({ domains: { '': { authstrategies: { oidc: { issuer: 'https://idp.test' } } } } })
    const first = meshcompanion({ parent: server })
    const button = { issuer: {}, client: {} }
    Object.assign(server.config.domains[''] ?? {}, { authstrategies: { oidc: button } })
    expect(meshcompanion({ parent: server })).to.equal(first)
    expect(server.config.domains['']?.authstrategies?.oidc).to.equal(button)
    expect(log).to.have.length(1)
    expect(log[0]).to.match(/already-at-work: .*Restart MeshCentral/)
  })
})
