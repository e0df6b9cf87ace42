import { expect } from 'chai'
import { check } from '../../plugin/doctor/check.ts'
import { CLIENT, type MeshSetup, type Places, setUpMesh } from './support/mesh-setup.ts'
import { isApp, messageOn, sessionOf, signIn } from './support/session.ts'

const FULL = 0xffffffff

/**
 * A configuration that the plugin accepts and the built-in strategy misreads: strings for lists, and no groups scope.
 */
const oidc = ({ issuer, url }: Places) => ({
  issuer,
  clientid: CLIENT.client_id,
  client: { client_secret: CLIENT.client_secret, redirect_uri: `${url}auth-oidc-callback`, response_types: 'code' },
  custom: { claims: { name: 'name' }, required_acr: undefined },
  groups: { scope: '', required: 'mesh-users', siteadmin: 'mesh-admins', sync: { filter: 'mesh-users' } },
  newAccounts: true,
})

/** Returns the `oidc` object that `check --meshcentral --back` prints. */
function convertedBack(places: Places): unknown {
  const config = {
    settings: { cert: 'localhost', plugins: { enabled: true, list: ['meshcompanion'] } },
    domains: { '': { authStrategies: { oidc: oidc(places) } } },
  }
  let output = ''
  const terminal = {
    list: () => [],
    read: () => JSON.stringify(config),
    out: (text: string) => {
      output += text
    },
    err: () => undefined,
    create: () => undefined,
  }
  expect(check(['config.json', '--meshcentral', '--back'], terminal)).to.equal(0)
  return JSON.parse(output).domains[''].authStrategies.oidc
}

describe("MeshCentral's built-in strategy with a configuration that --back wrote", () => {
  let setup: MeshSetup
  afterEach(() => setup.close())

  /** Starts the built-in strategy with an IdP that sends groups with `profile` and refuses the scope `groups`. */
  async function start(exactly: (places: Places) => unknown): Promise<void> {
    const idp = { scopes: { profile: ['name', 'groups'] } }
    setup = await setUpMesh({ strategy: 'built-in', idp, domains: { '': { exactly } } })
    await setup.register({ scope: 'openid profile email' })
  }

  it("MeshCentral's built-in strategy applies the group rules that --back converted", async () => {
    await start(convertedBack)
    const admin = setup.person({ groups: ['mesh-users', 'mesh-admins'] })
    await signIn(setup, setup.browser(), admin)
    const { links } = await setup.account(admin, '', ({ siteadmin }) => siteadmin === FULL)
    expect(Object.keys(links ?? {})).to.have.length(1)
    // `m` is a letter of "mesh-admins": the built-in strategy would split a string into letters.
    const user = setup.person({ groups: ['mesh-users', 'm'] })
    await signIn(setup, setup.browser(), user)
    expect(await setup.account(user)).not.to.have.property('siteadmin')
    const stranger = setup.person({ groups: ['m'] })
    const browser = setup.browser()
    const page = await signIn(setup, browser, stranger)
    expect(isApp(page)).to.equal(false)
    expect(sessionOf(browser, setup.url).userid).to.equal(undefined)
    expect(messageOn(page)).to.equal(111)
  })

  it('the IdP refuses the scope of a configuration that --back did not convert', async () => {
    await start(oidc)
    const browser = setup.browser()
    await browser.get(`${setup.url}auth-oidc`)
    expect(sessionOf(browser, setup.url).userid).to.equal(undefined)
    expect(setup.idp.requests('token')).to.equal(0)
  })
})
