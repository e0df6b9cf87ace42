import { expect } from 'chai'
import { meshcompanion } from '../../../plugin/meshcentral.ts'
import { standIn } from './stand-in.ts'

describe('plugin in a MeshCentral process', () => {
  it('loading the plugin again keeps the first instance and logs that a restart is due', () => {
    const { server, log } = standIn({ domains: { '': { authstrategies: { oidc: { issuer: 'https://idp.test' } } } } })
    const first = meshcompanion({ parent: server })
    const button = { issuer: {}, client: {} }
    Object.assign(server.config.domains[''] ?? {}, { authstrategies: { oidc: button } })
    expect(meshcompanion({ parent: server })).to.equal(first)
    expect(server.config.domains['']?.authstrategies?.oidc).to.equal(button)
    expect(log).to.have.length(1)
    expect(log[0]).to.match(/already-at-work: .*Restart MeshCentral/)
  })

  // Shows: plugin 9.40.
  it("MeshCentral's warning of a failed start contains the reason without markup", () => {
    const { server, web, log } = standIn({
      domains: { '': { authstrategies: { oidc: { issuer: 'https://idp.test' } } } },
    })
    const broken = Object.defineProperty(web, 'app', {
      get: () => {
        throw new Error('<img src=x onerror=alert(1)> & more')
      },
    })
    meshcompanion({ parent: server }).hook_setupHttpHandlers(broken, server)
    const warnings = log.filter((line) => line.startsWith('warning: '))
    expect(warnings.join()).to.include('failed to start: &#60;img src=x onerror=alert(1)&#62; &#38; more.')
    expect(warnings.join()).to.not.match(/[<>]/)
  })
})
