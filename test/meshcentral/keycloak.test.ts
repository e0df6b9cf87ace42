import { join } from 'node:path'
import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { prepareDistribution } from '../idps/providers/keycloak/distribution.ts'
import { REALM } from '../idps/providers/keycloak/realm.ts'
import { createKeycloak, type Keycloak } from '../idps/providers/keycloak.ts'
import { ALICE, BOB, type Person } from '../idps/support/people.ts'
import { scratchFor } from '../idps/support/scratch.ts'
import { pluginLines } from './support/auth-log.ts'
import { type ControlSocket, openPage } from './support/control-socket.ts'
import { laboratory, useLaboratory } from './support/laboratory.ts'
import { type MeshSetup, setUpMesh } from './support/mesh-setup.ts'
import { isApp, isSignedIn, messageOn } from './support/session.ts'
import { until } from './support/until.ts'

useLaboratory()

/** A download at first, and a start of a quarter of a minute. */
const START_LIMIT_MS = 600_000
const CLIENT = { client_id: 'mesh', client_secret: 'a-client-secret-of-the-tests-with-both' }

describe('MeshCentral with Keycloak', () => {
  let keycloak: Keycloak | undefined
  let setup: MeshSetup
  const pages: ControlSocket[] = []

  before(async function () {
    this.timeout(START_LIMIT_MS)
    const distribution = await prepareDistribution(await scratchFor('Keycloak'))
    if (distribution.kind === 'missing') {
      console.log(`      MeshCentral with Keycloak is skipped: ${distribution.reason}`)
      this.skip()
    }
    // Of the authority that all certificates of this run are from; the guide names the file.
    const { template } = await laboratory()
    keycloak = createKeycloak(distribution.folder, join(template, 'root-cert-public.crt'))
    await keycloak.start()
    await keycloak.reset()
    const { issuer } = keycloak
    const plugins = { enabled: true, list: ['meshcompanion'], meshcompanion: { introspectMinutes: 0.02 } }
    setup = await setUpMesh({
      settings: { plugins },
      domains: {
        '': {
          exactly: ({ url }) => ({
            issuer,
            newAccounts: true,
            client: { ...CLIENT, redirect_uri: `${url}auth-oidc-callback`, post_logout_redirect_uri: `${url}login` },
          }),
        },
      },
    })
  })
  after(async function () {
    this.timeout(START_LIMIT_MS)
    await setup?.close()
    await keycloak?.close()
  })
  afterEach(() => {
    for (const page of pages.splice(0)) page.close()
  })

  const idp = (): Keycloak => {
    if (!keycloak) throw new Error('Keycloak was not started')
    return keycloak
  }
  /** As an administrator sets it up by the guide. */
  const register = async (sessionRequired: boolean) => {
    await idp().reset()
    await idp().register({
      ...CLIENT,
      redirect_uris: [`${setup.url}auth-oidc-callback`],
      post_logout_redirect_uris: [`${setup.url}login`],
      // The name of MeshCentral's certificate is that of `settings.cert`.
      backchannel_logout_uri: `https://127.0.0.1:${setup.port}/auth-oidc-backchannel-logout`,
      backchannel_logout_session_required: sessionRequired,
    })
  }
  const signedIn = async (person: Person) => {
    const browser = setup.browser()
    const page = await idp().signIn(browser, await browser.get(`${setup.url}auth-oidc`), person)
    if (!isApp(page)) throw new Error(`not signed in at ${page.url}: ${page.status}, message ${messageOn(page)}`)
    return browser
  }
  const open = async (browser: ScriptedBrowser) => {
    const page = await openPage(setup, browser)
    pages.push(page)
    return page
  }
  const closes = (page: ControlSocket) => until('the server to close the socket', () => !page.isOpen(), 30_000)
  const lineOf = (event: string, already = 0) =>
    until(`the line ${event}`, async () => {
      const lines = (await pluginLines(setup)).filter((line) => line.event === event)
      return lines.length > already && lines.at(-1)
    })
  const signOut = async (browser: ScriptedBrowser) =>
    idp().confirmLogout(browser, await browser.get(`${setup.url}logout`))

  it('signs somebody out who is disabled there, of whom Keycloak tells nothing, with the page open, and nobody else', async () => {
    await register(true)
    const [browser, elsewhere] = [await signedIn(ALICE), await signedIn(ALICE)]
    const [page, idle] = [await open(browser), await open(elsewhere)]
    const other = await signedIn(BOB)
    const bystander = await open(other)
    await idp().disable(ALICE)
    await closes(page)
    await closes(idle)
    expect([await isSignedIn(setup, browser), await isSignedIn(setup, elsewhere)]).to.deep.equal([false, false])
    expect([bystander.isOpen(), await isSignedIn(setup, other)]).to.deep.equal([true, true])
    expect((await lineOf('session-ended'))?.level).to.equal('INFO')
    const events = (await pluginLines(setup)).map(({ event }) => event)
    expect(events).not.to.include('backchannel-logout')
    expect(events).not.to.include('introspection-failed')
  })

  it('lets nobody go idle there who is busy here, and signs out who comes back after the session there went idle', async () => {
    await register(true)
    const realm = await idp().admin.get<object>(`/${REALM}`)
    await idp().admin.put(`/${REALM}`, { ...realm, accessTokenLifespan: 2, ssoSessionIdleTimeout: 15 })
    const page = await open(await signedIn(ALICE))
    const away = await signedIn(BOB)
    await until('the idle session there to end', async () => (await idp().ownSessions(BOB)) === 0, 60_000)
    expect(await idp().ownSessions(ALICE)).to.equal(1)
    expect(page.isOpen()).to.equal(true)
    await until('the idle session here to end', async () => !(await isSignedIn(setup, away)), 30_000)
    expect(page.isOpen()).to.equal(true)
  })

  it('signs one of two browsers out, and leaves the other one in, with Backchannel logout session required On', async () => {
    await register(true)
    const [browser, elsewhere] = [await signedIn(ALICE), await signedIn(ALICE)]
    const [page, stays] = [await open(browser), await open(elsewhere)]
    const end = await signOut(browser)
    expect(end.url).to.satisfy((url: string) => url.startsWith(`${setup.url}login`))
    await closes(page)
    await lineOf('backchannel-logout')
    expect([await isSignedIn(setup, browser), await isSignedIn(setup, elsewhere)]).to.deep.equal([false, true])
    expect(stays.isOpen()).to.equal(true)
    expect(await idp().ownSessions(ALICE)).to.equal(1)

    // The one that is left is ended by an administrator, of which Keycloak tells.
    await idp().endSessions?.(ALICE, 'all')
    await closes(stays)
    expect(await isSignedIn(setup, elsewhere)).to.equal(false)
  })

  it('signs a person out of all browsers where an administrator ends all sessions, of which Keycloak names one, with it On', async () => {
    await register(true)
    const opened = [
      await open(await signedIn(ALICE)),
      await open(await signedIn(ALICE)),
      await open(await signedIn(ALICE)),
    ]
    const bystander = await open(await signedIn(BOB))
    await idp().endSessions?.(ALICE, 'all')
    for (const page of opened) await closes(page)
    expect(bystander.isOpen()).to.equal(true)
  })

  it('signs a person out of all browsers at each sign-out with Backchannel logout session required Off', async () => {
    await register(false)
    const [browser, elsewhere] = [await signedIn(ALICE), await signedIn(ALICE)]
    const [page, goes] = [await open(browser), await open(elsewhere)]
    const bystander = await open(await signedIn(BOB))
    await signOut(browser)
    await closes(page)
    await closes(goes)
    expect([await isSignedIn(setup, browser), await isSignedIn(setup, elsewhere)]).to.deep.equal([false, false])
    expect(bystander.isOpen()).to.equal(true)
  })
})
