import { expect } from 'chai'
import { signedIn } from './support/session.ts'
import { useMesh } from './support/use-mesh.ts'

describe('the plugin at the start of MeshCentral', () => {
  const setup = useMesh({
    settings: { authLog: undefined },
    domains: {
      '': { oidc: null },
      dns: { members: { dns: 'other.mesh.test' } },
      mistake: { oidc: { groups: { required: 7 } } },
    },
  })

  // Shows: meshcentral 4.
  it('a user signs in if only a domain with its own host name has single sign-on', async () => {
    await signedIn(setup, setup.person(), 'dns')
    expect((await setup.browser().step(`${setup.url}auth-oidc`)).status).to.equal(404)
  })

  // Shows: meshcentral 27.
  it('configuration errors appear on the console if there is no authentication log', async () => {
    expect(setup.server().output()).to.match(/WARNING: .*meshcompanion.*"mistake".*authLog/)
    expect(await setup.data.authLog()).to.deep.equal([])
  })

  // Shows: meshcentral 25.
  it("the first user is not a site admin, despite MeshCentral's message on the console", async () => {
    await setup.restart({ domains: { '': {} }, settings: {} })
    const person = setup.person()
    await signedIn(setup, person)
    expect((await setup.account(person)).siteadmin).to.equal(undefined)
  })
})
