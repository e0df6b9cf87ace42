import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { openPage } from './support/control-socket.ts'
import { useLaboratory } from './support/laboratory.ts'
import { type MeshSetup, type Person, setUpMesh } from './support/mesh-setup.ts'
import { isApp, isLoginPage, signedIn, signIn } from './support/session.ts'

useLaboratory()

const TOLD = 'You were signed out by the sign-in service, or your session has expired.'

describe('a page of MeshCentral whose session the IdP has ended', () => {
  let setup: MeshSetup
  before(async () => {
    setup = await setUpMesh({
      domains: {
        '': {},
        straight: { members: { unknownUserRootRedirect: 'auth-oidc' } },
        key: { members: { loginKey: ['secret'] } },
      },
    })
  })
  after(() => setup?.close())

  const endAll = async ({ sub }: Person, domain = '') => {
    const now = Math.floor(Date.now() / 1000)
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
    const token = await setup.idp.sign(
      { iss: setup.idp.issuer, aud: 'mesh', sub, iat: now, exp: now + 120, jti: randomUUID(), events },
      { alg: 'RS256', typ: 'logout+jwt' },
    )
    const form = [['logout_token', token]] as const
    const { status } = await setup.browser().step(`${setup.urlOf(domain)}auth-oidc-backchannel-logout`, { form })
    expect(status).to.be.oneOf([200, 204])
  }
  const signedOutBy = async (domain = '') => {
    const person = setup.person()
    const browser = await signedIn(setup, person, domain)
    await endAll(person, domain)
    return browser
  }
  const reads = async (browser: ScriptedBrowser, url: string) => {
    const page = await browser.get(url)
    return { url: page.url, isTold: page.body.includes(TOLD), isLoginPage: isLoginPage(page) }
  }

  it('is told to load itself anew before its socket is closed, which its plugin function does', async () => {
    const person = setup.person()
    const browser = await signedIn(setup, person)
    const { body } = await browser.step(setup.url)
    expect(body).to.match(/obj\.meshcompanion\.signedOut = function \(server\) \{/)
    const page = await openPage(setup, browser)
    await endAll(person)
    await page.closed
    expect(page.messages.at(-1)).to.deep.equal({ action: 'plugin', plugin: 'meshcompanion', method: 'signedOut' })
  })

  it('goes to the login page, which says once why', async () => {
    const login = { url: `${setup.url}login`, isLoginPage: true }
    for (const path of ['', 'login', '?viewmode=2&gotonode=abc']) {
      const browser = await signedOutBy()
      expect(await reads(browser, setup.url + path), path).to.deep.include({
        ...login,
        isTold: true,
        url: `${setup.url}login`,
      })
      expect(await reads(browser, `${setup.url}login`), path).to.deep.equal({ ...login, isTold: false })
    }
  })

  it('is told why by the next visit where another request came first, as the one by which a page looks for the server', async () => {
    const browser = await signedOutBy()
    await browser.step(`${setup.url}refresh.ashx`)
    expect(await reads(browser, setup.url)).to.deep.equal({ url: `${setup.url}login`, isTold: true, isLoginPage: true })
  })

  it('goes to the login page also where others who are signed out are sent to the IdP at once, and with its login key', async () => {
    const straight = setup.urlOf('straight')
    expect(await reads(await signedOutBy('straight'), straight)).to.deep.include({
      url: `${straight}login`,
      isTold: true,
    })
    const key = setup.urlOf('key')
    const person = setup.person()
    const browser = setup.browser()
    expect(isApp(await signIn(setup, browser, person, { domain: 'key', path: 'auth-oidc?key=secret' }))).to.equal(true)
    await endAll(person, 'key')
    expect(await reads(browser, `${key}?key=secret`)).to.deep.include({ url: `${key}login?key=secret`, isTold: true })
  })

  it('says nothing of the kind to somebody who signed out, or who has signed in again', async () => {
    const browser = await signedIn(setup, setup.person())
    await browser.step(`${setup.url}logout`)
    expect((await reads(browser, setup.url)).isTold).to.equal(false)

    const person = setup.person()
    const again = await signedIn(setup, person)
    await endAll(person)
    await again.step(`${setup.url}refresh.ashx`)
    expect(isApp(await signIn(setup, again, person))).to.equal(true)
    expect(isApp(await again.get(setup.url))).to.equal(true)
    expect((await reads(again, `${setup.url}login`)).isTold).to.equal(false)
  })
})
