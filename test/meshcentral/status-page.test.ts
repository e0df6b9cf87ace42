import { expect } from 'chai'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { POLICY } from '../../plugin/doctor/page-look.ts'
import { launchChromium, takePicture } from '../support/chromium.ts'
import { until } from '../support/until.ts'
import { CLIENT, type Person } from './support/mesh-setup.ts'
import { createLocalAccount, signedIn } from './support/session.ts'
import { useMesh } from './support/use-mesh.ts'

const PATH = 'pluginadmin.ashx?pin=meshcompanion'
/** A live check sends a handful of requests. */
const CHECK_LIMIT_MS = 60_000

describe('the status page in MeshCentral', () => {
  const groups = { siteadmin: ['admins'] }
  const setup = useMesh({
    domains: {
      '': { oidc: { groups } },
      sub: { oidc: { groups } },
      part: { oidc: { newAccountsRights: ['manageusers', 'serverbackup', 'fullevents'] } },
      bare: { oidc: null },
      night: { oidc: { groups }, members: { nightMode: 1, siteStyle: 3 } },
      other: { oidc: { groups }, members: { dns: 'other.mesh.test' } },
    },
  })

  const admin = (claims = {}) => setup.person({ groups: ['admins'], ...claims })
  const pageOf = (browser: ScriptedBrowser, domain = '') => browser.step(setup.urlOf(domain) + PATH)
  const tokenOn = ({ body }: { readonly body: string }) => /name="token" value="([^"]+)"/.exec(body)?.[1] ?? ''
  const press = (browser: ScriptedBrowser, token: string, { domain = '', headers = {} } = {}) =>
    browser.step(setup.urlOf(domain) + PATH, { form: [['token', token]], headers })
  const checked = (browser: ScriptedBrowser, domain = '') =>
    until(
      'the outcome of the live check',
      async () => {
        const page = await pageOf(browser, domain)
        return page.body.includes('class="verdict') && page
      },
      CHECK_LIMIT_MS,
    )

  it('only full site administrators may open the status page', async () => {
    expect((await pageOf(setup.browser())).status).to.equal(401)
    expect((await pageOf(await signedIn(setup, setup.person()))).status).to.equal(403)
    const part = await signedIn(setup, setup.person(), 'part')
    const refused = await pageOf(part, 'part')
    expect(refused.status).to.equal(403)
    expect(refused.body).not.to.include(setup.idp.issuer)
    expect((await press(part, '', { domain: 'part' })).status).to.equal(403)
    const full = await pageOf(await signedIn(setup, admin()))
    expect(full.status).to.equal(200)
    expect(full.body).to.include(setup.idp.issuer)
  })

  it("the status page shows each domain only to that domain's administrators", async () => {
    const [ofDefault, ofSub] = [await signedIn(setup, admin()), await signedIn(setup, admin(), 'sub')]
    for (const [browser, ownDomain, otherDomain] of [
      [ofDefault, '', 'sub'],
      [ofSub, 'sub', ''],
    ] as const) {
      const { status, body } = await pageOf(browser, ownDomain)
      expect(status).to.equal(200)
      expect(body).to.include(
        `value="${setup.urlOf(ownDomain).replace('localhost', '127.0.0.1')}auth-oidc-backchannel-logout"`,
      )
      const redirected = await pageOf(browser, otherDomain)
      expect(redirected.status).to.equal(302)
      expect(redirected.headers.location).to.equal(`${new URL(setup.urlOf(ownDomain)).pathname}${PATH}`)
      expect(redirected.body).not.to.include('backchannel')
      expect((await press(browser, tokenOn({ body }), { domain: otherDomain })).status).to.equal(403)
    }
    const ofOther = await signedIn(setup, admin(), 'other')
    expect((await pageOf(ofOther, 'other')).body).to.include('of the domain <code>other</code>')
  })

  it('forged requests start no live check, and the status page shows no secret', async () => {
    const browser = await signedIn(setup, admin(), 'night')
    const page = await pageOf(browser, 'night')
    expect(page.body).to.include('data-look="night"')
    const token = tokenOn(page)
    const otherBrowser = await signedIn(setup, admin(), 'night')
    const stolen = tokenOn(await pageOf(otherBrowser, 'night'))
    const statuses = [
      await press(browser, '', { domain: 'night' }),
      await press(browser, stolen, { domain: 'night' }),
      await press(browser, token, { domain: 'night', headers: { 'sec-fetch-site': 'cross-site' } }),
      await press(browser, token, { domain: 'night', headers: { 'sec-fetch-site': 'same-site' } }),
      await press(setup.browser(), token, { domain: 'night' }),
    ].map(({ status }) => status)
    expect(statuses).to.deep.equal([403, 403, 403, 403, 401])
    expect((await pageOf(browser, 'night')).body).not.to.include('Asked')

    const pressed = await press(browser, token, { domain: 'night', headers: { 'sec-fetch-site': 'same-origin' } })
    expect(pressed.status).to.equal(303)
    expect(pressed.headers.location).to.equal('?pin=meshcompanion')
    const { body, headers } = await checked(browser, 'night')
    expect(body).to.include('<span class="verdict ok">ok</span><b>secret or key</b>')
    // No secret, and no script or style except the page's own.
    expect(body).not.to.include(CLIENT.client_secret)
    expect(body).not.to.match(/eyJ[\w-]{10}/)
    expect(headers).to.include({
      'content-security-policy': POLICY,
      'x-frame-options': 'SAMEORIGIN',
      'cache-control': 'no-store',
    })
    // The result is shown only in the domain that was checked.
    expect((await pageOf(await signedIn(setup, admin(), 'sub'), 'sub')).body).not.to.include('class="verdict')
  }).timeout(120_000)

  it('the status page says if a domain has no single sign-on', async () => {
    const browser = setup.browser()
    // The first account of a domain is a full administrator.
    expect(await createLocalAccount(setup, browser, 'first', 'bare')).to.equal(true)
    const { status, body } = await pageOf(browser, 'bare')
    expect(status).to.equal(200)
    expect(body).to.include('This domain has no single sign-on by this plugin.').and.not.to.include('Ask now')
  })

  describe('the status page in a browser', () => {
    let browser: Browser
    let context: BrowserContext
    const complaints: string[] = []
    before(async () => {
      browser = await launchChromium()
    })
    after(() => browser?.close())
    beforeEach(() => {
      complaints.length = 0
    })
    afterEach(() => context?.close())

    const open = async (person: Person, domain = '') => {
      context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 800 } })
      context.setDefaultTimeout(30_000)
      const page = await context.newPage()
      await page.goto(`${setup.urlOf(domain)}auth-oidc`)
      await page.getByLabel('User name').fill(person.username)
      await page.getByLabel('Password').fill(person.password)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.waitForURL(setup.urlOf(domain))
      await until('the signed-in page', async () => (await page.evaluate('Boolean(globalThis.userinfo)')) === true)
      return page
    }
    /** Follows the link on the page "My Server". */
    const openStatus = async (main: Page) => {
      await main.evaluate('go(6)')
      const opened = context.waitForEvent('page')
      await main.getByRole('link', { name: 'Single sign-on: status and live check' }).click()
      const page = await opened
      listen(page)
      await page.waitForLoadState()
      return page
    }
    const listen = (page: Page) => {
      page.on('pageerror', ({ message }) => complaints.push(message))
      page.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text())
      })
    }
    const backgroundOf = (page: Page) => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const isTooWide = (page: Page) =>
      page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth')

    it('the status page opens from My Server, copies addresses and starts a live check', async () => {
      const main = await open(admin({ name: 'Ada Admin' }))
      await setup.browser().step(`${setup.url}auth-oidc-callback?code=a-code&state=of-nobody`)
      const page = await openStatus(main)
      expect(page.url()).to.equal(setup.url + PATH)
      expect(await backgroundOf(page)).to.equal('rgb(255, 255, 255)')

      await context.grantPermissions(['clipboard-read', 'clipboard-write'])
      // Wait first, because the button shows this text for two seconds only.
      const copied = page.getByRole('button', { name: 'Copied' }).waitFor()
      await page.locator('[data-copy=redirect]').click()
      await copied
      expect(await page.evaluate('navigator.clipboard.readText()')).to.equal(`${setup.url}auth-oidc-callback`)

      await page.getByRole('button', { name: 'Ask now' }).click()
      await page.locator('.verdict').first().waitFor({ timeout: CHECK_LIMIT_MS })
      await page.getByText('transaction_missing').waitFor()
      await takePicture(page, 'meshcentral-status-light')

      await main.evaluate("localStorage.setItem('nightMode', '1')")
      await until('the dark look', async () => (await backgroundOf(page)) === 'rgb(0, 0, 0)')
      await page.setViewportSize({ width: 390, height: 844 })
      await page.reload()
      expect(await backgroundOf(page)).to.equal('rgb(0, 0, 0)')
      expect(await isTooWide(page)).to.equal(false)
      await takePicture(page, 'meshcentral-status-dark-phone')
      expect(complaints).to.deep.equal([])
    }).timeout(120_000)

    it('the status page opens inside MeshCentral from its list of plugins', async () => {
      const main = await open(admin({ name: 'Ann Admin' }))
      listen(main)
      await main.evaluate("goPlugin('meshcompanion', 'Single sign-on')")
      const frame = main.frameLocator('#p43iframe')
      await frame.getByRole('heading', { name: 'Single sign-on' }).waitFor()
      await frame.locator('[data-copy=redirect]').waitFor()
      expect(complaints).to.deep.equal([])
    })

    it('administrators open the status page from the newer interface; users see no link', async () => {
      const page = await openStatus(await open(admin({ name: 'Nora Newer' }), 'night'))
      expect(page.url()).to.equal(setup.urlOf('night') + PATH)
      expect(await backgroundOf(page)).to.equal('rgb(0, 0, 0)')
      await context.close()
      const userPage = await open(setup.person({ name: 'Una User' }))
      await userPage.evaluate('go(6)')
      expect(await userPage.locator('#meshcompanionStatus').count()).to.equal(0)
    })
  })
})
