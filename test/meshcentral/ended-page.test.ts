import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { openControl } from './support/control-socket.ts'
import type { Person } from './support/mesh-setup.ts'
import { authCookieOn, isApp, isLoginPage, signedIn, signIn, thiefOf } from './support/session.ts'
import { useMesh, verdictOf } from './support/use-mesh.ts'

const REASON = 'You were signed out by the sign-in service, or your session has expired.'

describe('an open page of MeshCentral after the IdP ended the session', () => {
  const setup = useMesh({
    domains: {
      '': {},
      straight: { members: { unknownUserRootRedirect: 'auth-oidc' } },
      key: { members: { loginKey: ['secret'] } },
    },
  })

  const endAll = async ({ sub }: Person, domain = '') => {
    expect(await setup.endSessions({ sub }, domain)).to.be.oneOf([200, 204])
  }
  const load = async (browser: ScriptedBrowser, url: string) => {
    const page = await browser.get(url)
    return { url: page.url, showsReason: page.body.includes(REASON), isLoginPage: isLoginPage(page) }
  }

  it('an open page gets the message to reload before its socket closes', async () => {
    const person = setup.person()
    const browser = await signedIn(setup, person)
    const { body } = await browser.step(setup.url)
    expect(body).to.match(/obj\.meshcompanion\.signedOut = function \(server\) \{/)
    const page = await setup.open(browser)
    await endAll(person)
    await page.closed
    expect(page.messages.at(-1)).to.deep.equal({ action: 'plugin', plugin: 'meshcompanion', method: 'signedOut' })
  })

  it('a page reloads if its socket connects just after another tab signed in', async () => {
    const person = setup.person()
    const browser = await signedIn(setup, person)
    const [slow, auth] = [thiefOf(setup, browser), authCookieOn(await browser.step(setup.url))]
    await signIn(setup, browser, person)
    const connect = (cookies: ScriptedBrowser) => setup.keep(openControl(setup, { auth: auth ?? '', browser: cookies }))
    const late = connect(slow)
    await late.message(({ action }) => action === 'close')
    expect(late.messages).to.deep.equal([
      { action: 'plugin', plugin: 'meshcompanion', method: 'signedOut' },
      { action: 'close', cause: 'noauth', msg: 'noauth' },
    ])
    // With the cookie of the new session, the page belongs to a signed-in user.
    const current = connect(browser)
    expect(await verdictOf(current)).to.equal('signed in')
    expect(current.messages.map(({ method }) => method)).not.to.include('signedOut')
  })

  it('the login page states once why the session ended, whichever page was open', async () => {
    for (const [domain, path, first] of [
      ['', ''],
      ['', 'login'],
      ['', '?viewmode=2&gotonode=abc'],
      // An open page requests `refresh.ashx` again and again.
      ['', '', 'refresh.ashx'],
      ['straight', ''],
      ['key', '?key=secret'],
    ] as const) {
      const [person, browser, query] = [setup.person(), setup.browser(), domain === 'key' ? path : '']
      expect(isApp(await signIn(setup, browser, person, { domain, path: `auth-oidc${query}` }))).to.equal(true)
      await endAll(person, domain)
      const url = setup.urlOf(domain)
      if (first) await browser.step(url + first)
      const expected = { url: `${url}login${query}`, showsReason: true, isLoginPage: true }
      expect(await load(browser, url + path), domain + path).to.deep.equal(expected)
      expect(await load(browser, expected.url), domain + path).to.deep.equal({ ...expected, showsReason: false })
    }
  })

  it('the login page does not report an ended session after a logout or a new login', async () => {
    const browser = await signedIn(setup, setup.person())
    await browser.step(`${setup.url}logout`)
    expect((await load(browser, setup.url)).showsReason).to.equal(false)

    const person = setup.person()
    const nextBrowser = await signedIn(setup, person)
    await endAll(person)
    await nextBrowser.step(`${setup.url}refresh.ashx`)
    expect(isApp(await signIn(setup, nextBrowser, person))).to.equal(true)
    expect(isApp(await nextBrowser.get(setup.url))).to.equal(true)
    expect((await load(nextBrowser, `${setup.url}login`)).showsReason).to.equal(false)
  })
})
