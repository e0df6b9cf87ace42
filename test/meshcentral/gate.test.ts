import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { linesOf } from './support/auth-log.ts'
import { openSocket } from './support/control-socket.ts'
import { userKey } from './support/mesh-setup.ts'
import { answerOfIdp, isApp, isLoginPage, isSignedIn, messageOn, signedIn, signIn, thiefOf } from './support/session.ts'
import { closes, useMesh } from './support/use-mesh.ts'

const LOCKED = 32
const [NEAR, FAR] = ['11.22.33.44', '55.66.77.88']
const statusOf = async (browser: ScriptedBrowser, address: string) => (await browser.step(address)).status

describe("MeshCentral's domain settings that restrict logins", () => {
  const setup = useMesh({
    settings: {
      trustedProxy: ['127.0.0.1'],
      userBlockedIp: ['66.0.0.0/8'],
    },
    domains: {
      '': { oidc: { groups: { siteadmin: ['mesh-admins'], sync: true } } },
      allowed: { members: { userAllowedIp: '11.22.33.0/24,127.0.0.1' } },
      blocked: { members: { userBlockedIp: ['55.0.0.0/8', '2001:db8::/32'] } },
      sent: { members: { userBlockedIp: ['55.0.0.0/8'], ipBlockedUserRedirect: 'https://intranet.test/blocked' } },
      key: { members: { loginKey: ['k1', 'K2'] } },
      keyed: { oidc: { groups: { required: ['staff'] } }, members: { loginKey: 'only' } },
      header: { members: { userRequiredHttpHeader: { 'X-Corp': 'yes' } } },
    },
  })

  it("the login route refuses the same IP addresses as MeshCentral's login page", async () => {
    for (const [domain, address, isAllowed] of [
      ['', FAR, true],
      ['blocked', '66.1.2.3', false],
      ['allowed', FAR, false],
      ['allowed', '::ffff:11.22.33.9', true],
      ['blocked', NEAR, true],
      ['blocked', FAR, false],
      ['blocked', '2001:db8::7', false],
    ] as const) {
      const browser = setup.browser(address)
      const context = `${address} at ${domain}`
      expect(await statusOf(browser, `${setup.urlOf(domain)}auth-oidc`), context).to.equal(isAllowed ? 302 : 401)
      // MeshCentral's own login page admits and blocks the same addresses.
      expect(await statusOf(browser, `${setup.urlOf(domain)}login`), context).to.equal(isAllowed ? 200 : 401)
    }
    const { status, headers } = await setup.browser(FAR).step(`${setup.urlOf('sent')}auth-oidc`)
    expect(status).to.equal(302)
    expect(headers.location).to.equal('https://intranet.test/blocked')
  })

  it("creates no account if the user's address is blocked on return from the IdP", async () => {
    const person = setup.person()
    const near = setup.browser(NEAR)
    const answer = await answerOfIdp(setup, near, person, { domain: 'blocked' })
    expect(await statusOf(thiefOf(setup, near, FAR), answer)).to.equal(401)
    expect(await setup.hasAccount(person, 'blocked')).to.equal(false)
    expect(isApp(await near.get(answer))).to.equal(true)
  })

  it("refuses a login without MeshCentral's loginKey, and keeps the key in the address", async () => {
    const key = setup.urlOf('key')
    for (const query of ['', '?key=', '?key=k', '?key=k1&key=k1']) {
      expect(await statusOf(setup.browser(), `${key}auth-oidc${query}`), query).to.equal(404)
    }
    const path = 'auth-oidc?key=K2&return=/key/%3Fviewmode=2'
    const page = await signIn(setup, setup.browser(), setup.person(), { domain: 'key', path })
    expect(isApp(page)).to.equal(true)
    expect([...new URL(page.url).searchParams].toSorted()).to.deep.equal([
      ['key', 'K2'],
      ['viewmode', '2'],
    ])
    expect(page.trail.filter((address) => address.startsWith(setup.idp.issuer)).join()).not.to.include('key=')
    const failed = await signIn(setup, setup.browser(), setup.person(), { domain: 'keyed', path: 'auth-oidc?key=only' })
    expect(isLoginPage(failed)).to.equal(true)
    expect(messageOn(failed)).to.equal(111)
    expect(new URL(failed.url).searchParams.get('key')).to.equal('only')
  })

  it("the login page after a logout keeps MeshCentral's loginKey in its address", async () => {
    const browser = setup.browser()
    await signIn(setup, browser, setup.person(), { domain: 'key', path: 'auth-oidc?key=k1' })
    expect(await statusOf(browser, `${setup.urlOf('key')}logout`)).to.equal(404)
    const page = await browser.get(`${setup.urlOf('key')}logout?key=k1`)
    const loginPage = page.forms[0] ? await browser.submit(page.forms[0], {}, 'Yes, sign me out') : page
    expect(isLoginPage(loginPage)).to.equal(true)
    expect(new URL(loginPage.url).searchParams.get('key')).to.equal('k1')
    expect(isApp(await browser.step(`${setup.urlOf('key')}?key=k1`))).to.equal(false)
    // After the logout, the plugin adds the key to one request only.
    expect(await statusOf(browser, `${setup.urlOf('key')}login`)).to.equal(404)
  })

  it('the login route answers 404 if the header in userRequiredHttpHeader is missing', async () => {
    const address = `${setup.urlOf('header')}auth-oidc`
    const browser = setup.browser()
    expect((await browser.step(address)).status).to.equal(404)
    expect((await browser.step(address, { headers: { 'x-corp': 'no' } })).status).to.equal(404)
    expect((await browser.step(address, { headers: { 'x-corp': 'yes' } })).status).to.equal(302)
  })

  it('the next request of a locked account shows the login page with message 110', async () => {
    const person = setup.person({ groups: ['locked out'] })
    const browser = await signedIn(setup, person)
    const admin = await setup.open(await signedIn(setup, setup.person({ groups: ['mesh-admins'] })))
    admin.send({ action: 'edituser', id: userKey(person), siteadmin: LOCKED, responseid: 'lock' })
    await setup.account(person, '', ({ siteadmin }) => siteadmin === LOCKED)
    const lines = await linesOf(setup, async () => {
      const page = await browser.get(setup.url)
      expect(isLoginPage(page)).to.equal(true)
      expect(messageOn(page)).to.equal(110)
    })
    expect(lines.filter((line) => line.includes('locked-user-signed-out'))).to.have.length(1)
  })
})

describe("MeshCentral's server settings that restrict logins", () => {
  const domains = { '': { oidc: { groups: { siteadmin: ['mesh-admins'] } } }, path: {} }
  const setup = useMesh({ domains, settings: { maintenanceMode: 'soon back' } })

  it('maintenance mode admits only site admins and creates no account', async () => {
    for (const domain of ['', 'path']) {
      const person = setup.person()
      const page = await signIn(setup, setup.browser(), person, { domain })
      expect(isLoginPage(page), domain).to.equal(true)
      expect(messageOn(page), domain).to.equal(115)
      expect(await setup.hasAccount(person, domain)).to.equal(false)
    }
    await signedIn(setup, setup.person({ groups: ['mesh-admins'] }))
  })

  it('the login route answers 401 to addresses outside userAllowedIp', async () => {
    const settings = { trustedProxy: ['127.0.0.1'], userAllowedIp: ['11.22.33.0/24', '127.0.0.1'] }
    await setup.restart({ domains, settings })
    const { status, headers } = await setup.browser(FAR).step(`${setup.url}auth-oidc`)
    expect(status).to.equal(401)
    expect(String(headers['set-cookie']).includes('oidc')).to.equal(false)
    expect(isApp(await signIn(setup, setup.browser(NEAR), setup.person()))).to.equal(true)
  })
})

describe('an address that sent too many wrong passwords to MeshCentral', () => {
  const setup = useMesh({
    settings: { maxInvalidLogin: { time: 10, count: 2 } },
    domains: { '': { members: { newAccounts: true } } },
  })
  const headers = { 'x-meshauth': 'bm9ib2R5,eA==' }
  /** Returns the cause that the server gives before it closes a socket. */
  const causeOf = (query: Readonly<Record<string, string>>, browser?: ScriptedBrowser, headers = {}) => {
    const socket = openSocket(new URL(`control.ashx?${new URLSearchParams(query)}`, setup.url), browser, headers)
    setup.keep({ close: () => socket.terminate() })
    return new Promise<unknown>((resolve) => {
      socket.once('message', (data) => resolve((JSON.parse(String(data)) as { readonly cause?: string }).cause))
    })
  }

  it('an address banned for wrong passwords may still use single sign-on', async () => {
    const earlier = await signedIn(setup, setup.person())
    // MeshCentral delays each answer, so send them in parallel.
    const form = Object.entries({ action: 'login', username: 'nobody', password: 'x' })
    await Promise.all([1, 2, 3].map(() => setup.browser().step(`${setup.url}login`, { form })))
    expect(await causeOf({})).to.equal('banned')

    const browser = await signedIn(setup, setup.person())
    for (const session of [browser, earlier]) expect((await setup.open(session)).isOpen()).to.equal(true)
    expect(await causeOf({ user: 'nobody', pass: 'x' }, browser)).to.equal('banned')
    expect(await causeOf({}, browser, headers)).to.equal('banned')

    const page = await setup.open(earlier)
    const { trail } = await earlier.get(`${setup.url}logout`)
    expect(trail.some((address) => address.startsWith(setup.idp.issuer))).to.equal(true)
    await closes(page)
    expect(await isSignedIn(setup, earlier)).to.equal(false)
  })
})
