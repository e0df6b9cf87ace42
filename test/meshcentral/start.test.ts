import { expect } from 'chai'
import { useLaboratory } from './support/laboratory.ts'
import { type MeshSetup, setUpMesh } from './support/mesh-setup.ts'
import { isLoginPage, isSignedIn, messageOn, signedIn, thiefOf } from './support/session.ts'

useLaboratory()

describe('at the start of the server, the plugin', () => {
  let setup: MeshSetup
  afterEach(() => setup?.close())

  it('lets the server come up while the IdP is down, and signs people in once that is back', async () => {
    setup = await setUpMesh({
      domains: {
        '': {},
        endpoints: {
          oidc: ({ issuer }) => ({
            issuer: {
              issuer,
              authorization_endpoint: `${issuer}/auth`,
              token_endpoint: `${issuer}/token`,
              userinfo_endpoint: `${issuer}/me`,
              jwks_uri: `${issuer}/jwks`,
              end_session_endpoint: `${issuer}/session/end`,
            },
          }),
        },
        issuerless: { oidc: { issuer: undefined } },
        clientless: { exactly: ({ issuer }) => ({ issuer }) },
      },
    })
    await setup.idp.down()
    await setup.restart()
    const page = await setup.browser().get(`${setup.url}auth-oidc`)
    expect([isLoginPage(page), messageOn(page)]).to.deep.equal([true, 112])
    await setup.idp.up()
    for (const domain of ['', 'endpoints']) await signedIn(setup, setup.person(), domain)
    for (const domain of ['issuerless', 'clientless']) {
      const refused = await setup.browser().get(`${setup.urlOf(domain)}auth-oidc`)
      expect([isLoginPage(refused), messageOn(refused)], domain).to.deep.equal([true, 111])
    }
    expect(setup.server().isUp()).to.equal(true)
  })

  it('serves a domain with a host name of its own where no other one has single sign-on', async () => {
    setup = await setUpMesh({
      domains: { '': { oidc: null }, dns: { members: { dns: 'other.mesh.test' } } },
    })
    await signedIn(setup, setup.person(), 'dns')
    expect((await setup.browser().step(`${setup.url}auth-oidc`)).status).to.equal(404)
  })

  it('makes nobody a site admin for being the first, whatever the console says', async () => {
    setup = await setUpMesh()
    const person = setup.person()
    await signedIn(setup, person)
    expect((await setup.account(person)).siteadmin).to.equal(undefined)
  })

  it('says on the console what is wrong with its configuration where no authentication log is kept', async () => {
    setup = await setUpMesh({
      settings: { authLog: undefined },
      domains: { '': {}, mistake: { oidc: { groups: { required: 7 } } } },
    })
    expect(setup.server().output()).to.match(/WARNING: .*meshcompanion.*"mistake".*authLog/)
    expect(await setup.data.authLog()).to.deep.equal([])
    await signedIn(setup, setup.person())
  })

  it('leaves a session refused that was signed out, after a restart too', async () => {
    setup = await setUpMesh()
    const browser = await signedIn(setup, setup.person())
    const thief = thiefOf(setup, browser)
    const other = await signedIn(setup, setup.person())
    await browser.step(`${setup.url}logout`)
    expect(await isSignedIn(setup, thief)).to.equal(false)
    await setup.restart()
    expect(await isSignedIn(setup, thief)).to.equal(false)
    expect(await isSignedIn(setup, other)).to.equal(true)
  })
})
