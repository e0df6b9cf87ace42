import { expect } from 'chai'
import { signedIn } from './support/session.ts'
import { useMesh } from './support/use-mesh.ts'

describe('at the start of the server, the plugin', () => {
  const setup = useMesh({
    settings: { authLog: undefined },
    domains: {
      '': { oidc: null },
      dns: { members: { dns: 'other.mesh.test' } },
      mistake: { oidc: { groups: { required: 7 } } },
    },
  })

  // Shows: meshcentral 4.
  it('serves a domain with its own host name when no other domain has single sign-on', async () => {
    await signedIn(setup, setup.person(), 'dns')
    expect((await setup.browser().step(`${setup.url}auth-oidc`)).status).to.equal(404)
  })

  // Shows: meshcentral 27.
  it('reports configuration errors on the console if there is no authentication log', async () => {
    expect(setup.server().output()).to.match(/WARNING: .*meshcompanion.*"mistake".*authLog/)
    expect(await setup.data.authLog()).to.deep.equal([])
  })

  // Shows: meshcentral 25.
  it('makes no first user a site admin, despite the message on the console', async () => {
    await setup.restart({ domains: { '': {} }, settings: {} })
    const person = setup.person()
    await signedIn(setup, person)
    expect((await setup.account(person)).siteadmin).to.equal(undefined)
  })
})
