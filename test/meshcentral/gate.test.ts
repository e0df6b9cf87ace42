import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { linesOf } from './support/auth-log.ts'
import { openPage } from './support/control-socket.ts'
import { useLaboratory } from './support/laboratory.ts'
import { type MeshSetup, setUpMesh, userKey } from './support/mesh-setup.ts'
import { answerOfIdp, isApp, isLoginPage, isSignedIn, messageOn, signedIn, signIn } from './support/session.ts'

useLaboratory()

const LOCKED = 32
const [NEAR, FAR] = ['11.22.33.44', '55.66.77.88']

describe('what MeshCentral asks of everybody who signs in', () => {
  let setup: MeshSetup
  before(async () => {
    setup = await setUpMesh({
      settings: {
        trustedProxy: ['127.0.0.1'],
        userBlockedIp: ['66.0.0.0/8'],
        maxInvalidLogin: { time: 10, count: 2 },
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
  })
  after(() => setup?.close())

  const statusOf = async (browser: ScriptedBrowser, address: string) => (await browser.step(address)).status

  for (const [domain, address, status] of [
    ['', FAR, 302],
    ['', '66.1.2.3', 401],
    ['blocked', '66.1.2.3', 401],
    ['allowed', NEAR, 302],
    ['allowed', FAR, 401],
    ['allowed', '::ffff:11.22.33.9', 302],
    ['blocked', NEAR, 302],
    ['blocked', FAR, 401],
    ['blocked', '2001:db8::7', 401],
    ['blocked', '2001:db9::7', 302],
  ] as const) {
    it(`answers ${status} to ${address} at the login of ${domain || 'the default domain'}, as at its own`, async () => {
      const browser = setup.browser(address)
      expect(await statusOf(browser, `${setup.urlOf(domain)}auth-oidc`)).to.equal(status)
      // MeshCentral's own page is the measure.
      expect(await statusOf(browser, `${setup.urlOf(domain)}login`)).to.equal(status === 302 ? 200 : 401)
    })
  }

  it('creates no account for an address that is blocked when it comes back from the IdP', async () => {
    const person = setup.person()
    const near = setup.browser(NEAR)
    const answer = await answerOfIdp(setup, near, person, { domain: 'blocked' })
    const cookies = near.cookies.matching(new URL(setup.url))
    const far = setup.browser(FAR)
    for (const { name, value } of cookies) far.cookies.plant(new URL(setup.url), name, value)
    expect(await statusOf(far, answer)).to.equal(401)
    expect(await setup.hasAccount(person, 'blocked')).to.equal(false)
    expect(isApp(await near.get(answer))).to.equal(true)
  })

  it('sends blocked addresses to where ipBlockedUserRedirect says', async () => {
    const { status, headers } = await setup.browser(FAR).step(`${setup.urlOf('sent')}auth-oidc`)
    expect([status, headers.location]).to.deep.equal([302, 'https://intranet.test/blocked'])
  })

  it('is a login key: without it there is nothing', async () => {
    const browser = setup.browser()
    for (const query of ['', '?key=', '?key=k', '?key=k3', '?key=k1&key=k1']) {
      expect(await statusOf(browser, `${setup.urlOf('key')}auth-oidc${query}`), query).to.equal(404)
    }
    expect(await statusOf(browser, `${setup.urlOf('key')}auth-oidc?key=k1`)).to.equal(302)
  })

  it('is a login key: it goes through the login and to the page behind it', async () => {
    for (const key of ['k1', 'K2']) {
      const browser = setup.browser()
      const page = await signIn(setup, browser, setup.person(), {
        domain: 'key',
        path: `auth-oidc?key=${encodeURIComponent(key)}&return=/key/%3Fviewmode=2`,
      })
      expect(isApp(page), key).to.equal(true)
      expect(new URL(page.url).searchParams.get('key')).to.equal(key)
      expect(new URL(page.url).searchParams.get('viewmode')).to.equal('2')
      expect(page.trail.filter((address) => address.startsWith(setup.idp.issuer)).join()).not.to.include('key=')
    }
  })

  it('is a login key: it goes to the login page that says why a login failed', async () => {
    const page = await signIn(setup, setup.browser(), setup.person(), { domain: 'keyed', path: 'auth-oidc?key=only' })
    expect([isLoginPage(page), messageOn(page)]).to.deep.equal([true, 111])
    expect(new URL(page.url).searchParams.get('key')).to.equal('only')
  })

  it('is a login key: it comes back from a logout', async () => {
    const browser = setup.browser()
    await signIn(setup, browser, setup.person(), { domain: 'key', path: 'auth-oidc?key=k1' })
    expect(await statusOf(browser, `${setup.urlOf('key')}logout`)).to.equal(404)
    const asked = await browser.get(`${setup.urlOf('key')}logout?key=k1`)
    const back = asked.forms[0] ? await browser.submit(asked.forms[0], {}, 'Yes, sign me out') : asked
    expect([isLoginPage(back), new URL(back.url).searchParams.get('key')]).to.deep.equal([true, 'k1'])
    expect(isApp(await browser.step(`${setup.urlOf('key')}?key=k1`))).to.equal(false)
    // That was for this one time.
    expect(await statusOf(browser, `${setup.urlOf('key')}login`)).to.equal(404)
  })

  it('is a header, without which there is nothing', async () => {
    const address = `${setup.urlOf('header')}auth-oidc`
    const browser = setup.browser()
    expect((await browser.step(address)).status).to.equal(404)
    expect((await browser.step(address, { headers: { 'x-corp': 'no' } })).status).to.equal(404)
    expect((await browser.step(address, { headers: { 'x-corp': 'yes' } })).status).to.equal(302)
  })

  it('is patience after failed passwords: message 114, and no way to the IdP', async () => {
    const browser = setup.browser('99.88.77.66')
    // MeshCentral takes its time for each.
    const form = [
      ['action', 'login'],
      ['username', 'nobody'],
      ['password', 'x'],
    ] as const
    await Promise.all([1, 2, 3].map(() => browser.step(`${setup.url}login`, { form })))
    const page = await browser.get(`${setup.url}auth-oidc`)
    expect([isLoginPage(page), messageOn(page)]).to.deep.equal([true, 114])
    expect(page.trail.some((address) => address.startsWith(setup.idp.issuer))).to.equal(false)
    expect(await statusOf(setup.browser('99.88.78.66'), `${setup.url}auth-oidc`)).to.equal(302)
  })

  it('is an account that is not locked: message 110, and no group of the IdP unlocks it', async () => {
    const person = setup.person({ groups: ['locked out'] })
    await signedIn(setup, person)
    const admin = await openPage(setup, await signedIn(setup, setup.person({ groups: ['mesh-admins'] })))
    admin.send({ action: 'edituser', id: userKey(person), siteadmin: LOCKED, responseid: 'lock' })
    await setup.account(person, '', ({ siteadmin }) => siteadmin === LOCKED)
    admin.close()
    const browser = setup.browser()
    const lines = await linesOf(setup, async () => {
      const again = setup.person({ groups: ['mesh-admins', 'new one'], name: 'Other Name' }, person)
      const page = await signIn(setup, browser, again)
      expect([isLoginPage(page), messageOn(page)]).to.deep.equal([true, 110])
    })
    expect(lines).to.have.length(1)
    expect(lines[0]).to.include('account_locked')
    expect(await isSignedIn(setup, browser)).to.equal(false)
    const record = await setup.account(person)
    expect([record.siteadmin, record.name]).to.deep.equal([LOCKED, person.name])
    expect(Object.keys((record.links ?? {}) as object)).to.have.length(1)
  })
})

describe('MeshCentral in maintenance mode', () => {
  let setup: MeshSetup
  const options = {
    domains: { '': { oidc: { groups: { siteadmin: ['mesh-admins'] } } }, path: {} },
  }
  before(async () => {
    setup = await setUpMesh({ ...options, settings: { maintenanceMode: 'soon back' } })
  })
  after(() => setup?.close())

  it('lets nobody in who is no site admin: message 115, and no account', async () => {
    for (const domain of ['', 'path']) {
      const person = setup.person()
      const page = await signIn(setup, setup.browser(), person, { domain })
      expect([isLoginPage(page), messageOn(page)], domain).to.deep.equal([true, 115])
      expect(await setup.hasAccount(person, domain)).to.equal(false)
    }
  })

  it('lets site admins in', async () => {
    const browser = setup.browser()
    const page = await signIn(setup, browser, setup.person({ groups: ['mesh-admins'] }))
    expect(isApp(page)).to.equal(true)
  })

  it('lets somebody in as usual once it is over', async () => {
    await setup.restart({ ...options, settings: {} })
    await signedIn(setup, setup.person())
  })
})

describe('lists of addresses in the settings of MeshCentral', () => {
  it('let nobody in from elsewhere, and answer 401', async () => {
    const setup = await setUpMesh({
      settings: { trustedProxy: ['127.0.0.1'], userAllowedIp: ['11.22.33.0/24', '127.0.0.1'] },
    })
    try {
      const person = setup.person()
      const refused = await setup.browser(FAR).step(`${setup.url}auth-oidc`)
      expect([
        refused.status,
        refused.headers['set-cookie']?.some((cookie) => cookie.includes('oidc')) ?? false,
      ]).to.deep.equal([401, false])
      const page = await signIn(setup, setup.browser(NEAR), person)
      expect(isApp(page)).to.equal(true)
    } finally {
      await setup.close()
    }
  })
})
