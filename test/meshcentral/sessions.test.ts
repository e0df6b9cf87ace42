import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { anyCertificateFetch } from '../support/any-certificate-fetch.ts'
import { until } from '../support/until.ts'
import { pluginLines } from './support/auth-log.ts'
import { userKey } from './support/mesh-setup.ts'
import {
  createLocalAccount,
  isApp,
  isLoginPage,
  isSignedIn,
  sessionOf,
  signedIn,
  signIn,
  thiefOf,
} from './support/session.ts'
import { closes, useMesh } from './support/use-mesh.ts'

const BACKCHANNEL = 'auth-oidc-backchannel-logout'

describe('single sign-on sessions in MeshCentral', () => {
  const setup = useMesh({
    settings: { trustedProxy: ['127.0.0.1'] },
    domains: {
      '': { members: { newAccounts: true } },
      local: { oidc: null, members: { newAccounts: true } },
    },
  })
  afterEach(() => setup.register({}))

  /** Sends a request by any method with the browser's cookies. Cookies of the answer are not stored. */
  const request = (browser: ScriptedBrowser, address: string, method: string) =>
    anyCertificateFetch(address, { method, headers: { cookie: browser.cookies.header(new URL(address)) ?? '' } })

  // Shows: meshcentral 17.
  it('a session cookie contains no token, and is refused from another IP address', async () => {
    const groups = Array.from({ length: 50 }, (_, n) => `group ${n}`)
    const near = setup.browser('11.22.33.44')
    await signIn(setup, near, setup.person({ groups }))
    const session = sessionOf(near, setup.url)
    expect(session.ip).to.equal('11.22.33.44')
    expect(JSON.stringify(session).length).to.be.below(700)
    expect(JSON.stringify(session)).not.to.include('eyJ')
    expect(await isSignedIn(setup, near)).to.equal(true)
    expect(await isSignedIn(setup, thiefOf(setup, near, '55.66.77.88'))).to.equal(false)
  })

  it("a logout invalidates the session's cookies and closes its pages and sockets", async () => {
    const person = setup.person()
    const browser = await signedIn(setup, person)
    const page = await setup.open(browser)
    expect(await setup.verdictOn(page.auth)).to.equal('signed in')
    const socketAlone = setup.openAlone(page.auth)
    await socketAlone.message(({ action }) => action === 'userinfo')
    const bystander = await setup.open(await signedIn(setup, setup.person()))
    const thief = thiefOf(setup, browser)

    await browser.step(`${setup.url}logout`)
    await signIn(setup, browser, person)
    const next = await setup.open(browser)
    await closes(page, socketAlone)
    expect(await isSignedIn(setup, thief)).to.equal(false)
    expect(await setup.verdictOn(page.auth)).to.equal('refused')
    expect(bystander.isOpen()).to.equal(true)
    expect(next.isOpen()).to.equal(true)
    expect(next.user._id).to.deep.equal(userKey(person))
    const event = await until('the event', async () =>
      (await setup.data.events()).find(({ userid, action }) => userid === userKey(person) && action === 'logout'),
    )
    expect(event).to.include({ msgid: 2, etype: 'user' })
  })

  it('a login that began earlier in another tab does not replace the session', async () => {
    const person = setup.person()
    const browser = setup.browser()
    const { headers } = await browser.step(`${setup.url}auth-oidc`)
    expect(isApp(await signIn(setup, browser, person))).to.equal(true)
    const [page, sessionBefore] = [await setup.open(browser), sessionOf(browser, setup.url)]
    expect(isApp(await browser.get(headers.location ?? ''))).to.equal(true)
    expect(page.isOpen()).to.equal(true)
    expect(sessionOf(browser, setup.url).x).to.deep.equal(sessionBefore.x)
    await browser.step(`${setup.url}logout`)
    await closes(page)
    expect(await setup.verdictOn(page.auth)).to.equal('refused')
  })

  // Shows: meshcentral 17.
  it('a new login in the same browser ends the earlier session and its pages', async () => {
    const person = setup.person()
    const browser = await signedIn(setup, person)
    const [page, elsewhere] = [await setup.open(browser), await setup.open(await signedIn(setup, person))]
    await signIn(setup, browser, person)
    await closes(page)
    expect(await setup.verdictOn(page.auth)).to.equal('refused')
    expect((await setup.open(browser)).isOpen()).to.equal(true)
    expect(elsewhere.isOpen()).to.equal(true)
  })

  it('a session survives unsolicited callbacks and HEAD or POST requests to log out', async () => {
    const browser = await signedIn(setup, setup.person())
    const page = await setup.open(browser)
    for (const query of ['code=x&state=y', 'error=access_denied&state=y']) {
      const { status, headers } = await browser.step(`${setup.url}auth-oidc-callback?${query}`)
      expect({ status, location: headers.location }).to.deep.equal({ status: 302, location: '/' })
    }
    // The plugin leaves a callback without `code` or `error` to MeshCentral, which has no page there.
    expect((await browser.step(`${setup.url}auth-oidc-callback`)).status).to.equal(404)
    for (const [path, method, status] of [
      ['logout', 'HEAD', 405],
      ['LOGOUT/', 'HEAD', 405],
      ['local/logout', 'POST', 404],
      ['local/logouts', 'GET', 404],
    ] as const) {
      expect((await request(browser, setup.url + path, method)).status, path).to.equal(status)
      expect(await isSignedIn(setup, browser), path).to.equal(true)
    }
    expect(page.isOpen()).to.equal(true)
  })

  it('password users and users of a domain without single sign-on can sign out', async () => {
    const browser = setup.browser()
    expect(await createLocalAccount(setup, browser, 'localadmin')).to.equal(true)
    expect((await browser.step(`${setup.url}logout`)).headers.location).to.equal('/login')
    expect(await isSignedIn(setup, browser)).to.equal(false)
    const local = setup.browser()
    expect(await createLocalAccount(setup, local, 'local', 'local')).to.equal(true)
    expect((await setup.open(local, 'local')).user._id).to.equal('user/local/local')
    await local.step(`${setup.urlOf('local')}logout`)
    expect(await isSignedIn(setup, local, 'local')).to.equal(false)
    const page = await setup.browser().get(`${setup.url}logout`)
    expect(isLoginPage(page)).to.equal(true)
    expect(page.url).to.deep.equal(`${setup.url}login`)
  })

  it('a back-channel logout with sid ends only that session and closes its open pages', async () => {
    await setup.register({
      backchannel_logout_uri: `${setup.url}${BACKCHANNEL}`,
      backchannel_logout_session_required: true,
    })
    const [person, otherPerson] = [setup.person(), setup.person()]
    const [browser, elsewhere] = [await signedIn(setup, person), await signedIn(setup, person)]
    const page = await setup.open(browser)
    const bystander = await setup.open(await signedIn(setup, otherPerson))
    const logoutPage = await browser.get(`${setup.idp.issuer}/session/end`)
    await browser.submit(logoutPage.forms[0] as NonNullable<(typeof logoutPage.forms)[0]>, {}, 'Yes, sign me out')

    await closes(page)
    expect(await isSignedIn(setup, browser)).to.equal(false)
    expect(await setup.verdictOn(page.auth)).to.equal('refused')
    expect(await isSignedIn(setup, elsewhere)).to.equal(true)
    expect(bystander.isOpen()).to.equal(true)
    expect((await pluginLines(setup)).filter(({ event }) => event === 'backchannel-logout')).to.have.length(1)
  })

  // Shows: meshcentral 17.
  it('a session ended through any logout URL stays ended after a restart', async () => {
    const person = setup.person()
    const browser = await signedIn(setup, person)
    const auths = [(await setup.open(browser)).auth]
    const copies = [thiefOf(setup, browser)]
    expect(await setup.endSessions({ sub: person.sub })).to.equal(200)
    for (const [path, method] of [
      ['logout', 'GET'],
      ['logout/', 'GET'],
      ['LOGOUT', 'GET'],
      ['Logout/?x=1', 'GET'],
      // The domain `local` has no single sign-on, but shares the session cookie.
      ['local/logout', 'GET'],
      ['local/logout', 'HEAD'],
    ] as const) {
      const browser = await signedIn(setup, setup.person())
      const page = await setup.open(browser)
      const copy = thiefOf(setup, browser)
      const { status, headers } = await request(browser, setup.url + path, method)
      expect(status, path).to.equal(302)
      if (!path.startsWith('local')) expect(headers.get('location'), path).to.match(/session\/end/)
      await closes(page)
      expect(await setup.verdictOn(page.auth), path).to.equal('refused')
      expect(await isSignedIn(setup, copy), path).to.equal(false)
      auths.push(page.auth)
      copies.push(copy)
    }
    const remaining = await signedIn(setup, setup.person())
    await until('the records', async () => {
      const records = [...(await setup.data.records()).values()]
      return records.filter(({ type }) => type === 'meshcompanion').length >= 2 * copies.length
    })
    await setup.restart()
    for (const copy of copies) expect(await isSignedIn(setup, copy)).to.equal(false)
    for (const auth of auths) expect(await setup.verdictOn(auth)).to.equal('refused')
    expect(await isSignedIn(setup, remaining)).to.equal(true)
  })
})
