import { join } from 'node:path'
import { expect } from 'chai'
import { prepareDistribution } from '../idps/providers/keycloak/distribution.ts'
import { REALM } from '../idps/providers/keycloak/realm.ts'
import { createKeycloak, type Keycloak } from '../idps/providers/keycloak.ts'
import { ALICE, BOB, type Person } from '../idps/support/people.ts'
import { scratchFor } from '../idps/support/scratch.ts'
import { until } from '../support/until.ts'
import { pluginLines } from './support/auth-log.ts'
import { laboratory } from './support/laboratory.ts'
import { isApp, isSignedIn, messageOn } from './support/session.ts'
import { closes, useMesh } from './support/use-mesh.ts'

/** Enough for a download and a start of about 15 seconds. */
const START_LIMIT_MS = 600_000
/** Keycloak takes 15 s and more to end an idle session. */
const IDLE_LIMIT_MS = 120_000
const CLIENT = { client_id: 'mesh', client_secret: 'a-client-secret-of-the-tests-with-both' }

describe('MeshCentral with Keycloak', () => {
  let keycloak: Keycloak | undefined
  before(async function () {
    this.timeout(START_LIMIT_MS)
    const distribution = await prepareDistribution(await scratchFor('Keycloak'))
    if (distribution.kind === 'missing') {
      console.log(`      MeshCentral with Keycloak is skipped: ${distribution.reason}`)
      this.skip()
    }
    // The authority of all certificates of this run. The guide names its file.
    const { template } = await laboratory()
    keycloak = createKeycloak(distribution.folder, join(template, 'root-cert-public.crt'))
    await keycloak.start()
    await keycloak.reset()
  })
  const setup = useMesh(() => ({
    settings: { plugins: { enabled: true, list: ['meshcompanion'], meshcompanion: { sessionCheckMinutes: 0.02 } } },
    domains: {
      '': {
        exactly: ({ url }) => ({
          issuer: runningKeycloak().issuer,
          newAccounts: true,
          client: { ...CLIENT, redirect_uri: `${url}auth-oidc-callback`, post_logout_redirect_uri: `${url}login` },
        }),
      },
    },
  }))
  after(async function () {
    this.timeout(START_LIMIT_MS)
    await keycloak?.close()
  })

  const runningKeycloak = (): Keycloak => {
    if (!keycloak) throw new Error('Keycloak was not started')
    return keycloak
  }
  /** Registers the client as the guide tells an administrator to. */
  const register = async () => {
    await runningKeycloak().reset()
    await runningKeycloak().register({
      ...CLIENT,
      redirect_uris: [`${setup.url}auth-oidc-callback`],
      post_logout_redirect_uris: [`${setup.url}login`],
      // The name in MeshCentral's certificate is that of `settings.cert`.
      backchannel_logout_uri: `https://127.0.0.1:${setup.port}/auth-oidc-backchannel-logout`,
      backchannel_logout_session_required: true,
    })
  }
  const signInAtKeycloak = async (person: Person) => {
    const browser = setup.browser()
    const page = await runningKeycloak().signIn(browser, await browser.get(`${setup.url}auth-oidc`), person)
    if (!isApp(page)) throw new Error(`not signed in at ${page.url}: ${page.status}, message ${messageOn(page)}`)
    return browser
  }
  const open = async (person: Person) => {
    const browser = await signInAtKeycloak(person)
    return { browser, page: await setup.open(browser) }
  }
  const loggedEvents = async () => (await pluginLines(setup)).map(({ event }) => event)

  it('an active user stays signed in at Keycloak; a user idle there is signed out', async () => {
    await register()
    const realm = await runningKeycloak().admin.get<object>(`/${REALM}`)
    await runningKeycloak().admin.put(`/${REALM}`, { ...realm, accessTokenLifespan: 2, ssoSessionIdleTimeout: 15 })
    const { page } = await open(ALICE)
    const idle = await signInAtKeycloak(BOB)
    await until(
      'the idle session there to end',
      async () => (await runningKeycloak().ownSessions(BOB)) === 0,
      IDLE_LIMIT_MS,
    )
    expect(await runningKeycloak().ownSessions(ALICE)).to.equal(1)
    expect(page.isOpen()).to.equal(true)
    await until('the idle session here to end', async () => !(await isSignedIn(setup, idle)))
    expect(page.isOpen()).to.equal(true)
  }).timeout(2 * IDLE_LIMIT_MS)

  it("a logout ends one of a user's Keycloak sessions; an administrator ends the rest", async () => {
    await register()
    const signingOut = await open(ALICE)
    const otherSessions = [await open(ALICE), await open(ALICE)]
    const bystander = await open(BOB)
    const lastPage = await runningKeycloak().confirmLogout(
      signingOut.browser,
      await signingOut.browser.get(`${setup.url}logout`),
    )
    expect(lastPage.url).to.satisfy((url: string) => url.startsWith(`${setup.url}login`))
    await closes(signingOut.page)
    await until('the line', async () => (await loggedEvents()).includes('backchannel-logout'))
    expect(await runningKeycloak().ownSessions(ALICE)).to.equal(2)
    for (const { browser, page } of otherSessions) {
      expect(await isSignedIn(setup, browser)).to.equal(true)
      expect(page.isOpen()).to.equal(true)
    }
    await runningKeycloak().endSessions?.(ALICE, 'all')
    await closes(...otherSessions.map(({ page }) => page))
    expect(bystander.page.isOpen()).to.equal(true)
  })
})
