import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { openControl } from './support/control-socket.ts'
import { isApp, isSignedIn, sessionOf, signedIn, signIn } from './support/session.ts'
import { closes, useMesh } from './support/use-mesh.ts'

/** Each case forces an order of events that happens by chance on a busy machine. */
describe('several tabs of one browser at MeshCentral', () => {
  const setup = useMesh()

  /** Opens another tab. Its answers, and so its cookies, reach the browser only when the test stores them. */
  const tabOf = (browser: ScriptedBrowser): ScriptedBrowser => {
    const tab = setup.browser()
    const cookies = browser.cookies.matching(new URL(setup.url))
    tab.cookies.store(
      new URL(setup.url),
      cookies.map(({ name, value }) => `${name}=${value}; Path=/; Secure`),
    )
    return tab
  }
  const requestSlowly = async (browser: ScriptedBrowser, url: string) => {
    const { status, headers } = await tabOf(browser).step(url)
    return { status, arrives: () => browser.cookies.store(new URL(url), headers['set-cookie'] ?? []) }
  }
  const idpSession = (browser: ScriptedBrowser) =>
    (sessionOf(browser, setup.url).oidcSignIn as { readonly sid: string }).sid

  // Shows: meshcentral 12.
  it('a tab reloads if its socket connects after another tab signed out', async () => {
    const browser = await signedIn(setup, setup.person())
    expect(await isSignedIn(setup, browser)).to.equal(true)
    await browser.step(`${setup.url}logout`)
    const late = setup.keep(openControl(setup, { browser }))
    await late.message(({ action }) => action === 'close')
    expect(late.messages).to.deep.equal([
      { action: 'plugin', plugin: 'meshcompanion', method: 'signedOut' },
      { action: 'close', cause: 'noauth', msg: 'noauth' },
    ])
  })

  // Shows: meshcentral 12.
  it('a user stays signed in if responses to earlier requests arrive after the login', async () => {
    const browser = setup.browser()
    const [loginStart, page] = [
      await requestSlowly(browser, `${setup.url}auth-oidc`),
      await requestSlowly(browser, setup.url),
    ]
    expect(loginStart.status).to.equal(302)
    expect(page.status).to.equal(200)
    expect(isApp(await signIn(setup, browser, setup.person()))).to.equal(true)
    loginStart.arrives()
    page.arrives()
    expect(await isSignedIn(setup, browser)).to.equal(true)
  })

  for (const end of ['first', 'last'] as const)
    it(`the session of two concurrent logins ends if the ${end} login's IdP session ends`, async () => {
      await setup.register({
        backchannel_logout_uri: `${setup.url}auth-oidc-backchannel-logout`,
        backchannel_logout_session_required: true,
      })
      const [person, browser] = [setup.person(), setup.browser()]
      const { headers } = await browser.step(`${setup.url}auth-oidc`)
      expect(isApp(await signIn(setup, browser, person))).to.equal(true)
      const [page, session, first] = [
        await setup.open(browser),
        sessionOf(browser, setup.url),
        await requestSlowly(browser, setup.url),
      ]
      const sid = idpSession(browser)
      // The other tab got the login form before the IdP had a session.
      const otherTab = tabOf(browser)
      const form = await otherTab.get(headers.location ?? '')
      expect(isApp(await otherTab.signIn(form, person.username, person.password))).to.equal(true)
      expect(page.isOpen()).to.equal(true)
      expect(sessionOf(otherTab, setup.url).x).to.deep.equal(session.x)
      expect(idpSession(otherTab)).not.to.equal(sid)
      expect(await isSignedIn(setup, otherTab)).to.equal(true)
      expect(await isSignedIn(setup, browser)).to.equal(true)
      first.arrives()

      await setup.endSessions({ sid: end === 'first' ? sid : idpSession(otherTab) })
      await closes(page)
      expect(await isSignedIn(setup, otherTab)).to.equal(false)
      expect(await isSignedIn(setup, browser)).to.equal(false)
    })
})
