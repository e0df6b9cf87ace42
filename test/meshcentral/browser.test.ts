import { expect } from 'chai'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { launchChromium, takePicture } from '../support/chromium.ts'
import { takeDocumentPicture } from '../support/document-picture.ts'
import { CLIENT, type Person } from './support/mesh-setup.ts'
import { signedIn } from './support/session.ts'
import { useMesh } from './support/use-mesh.ts'

describe('login and logout in a browser at MeshCentral', () => {
  let browser: Browser
  let context: BrowserContext
  const mesh = useMesh({
    domains: {
      '': { oidc: { groups: { sync: true, siteadmin: ['mesh-admins'] } } },
      closed: { oidc: { newAccounts: false } },
      posted: { oidc: { client: { client_id: 'posted', response_types: ['code id_token'] } } },
    },
  })
  let page: Page
  /** Dialogs and script errors. The IdP's values must cause none. */
  const complaints: string[] = []

  before(async () => {
    await mesh.idp.addClient({
      ...CLIENT,
      client_id: 'posted',
      redirect_uris: [`${mesh.urlOf('posted')}auth-oidc-callback`],
      response_types: ['code id_token'],
      grant_types: ['implicit', 'authorization_code'],
    })
    browser = await launchChromium()
  })
  after(() => browser?.close())
  beforeEach(async () => {
    complaints.length = 0
    context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 800 } })
    context.setDefaultTimeout(20_000)
    page = await context.newPage()
    page.on('pageerror', ({ message }) => complaints.push(message))
    page.on('dialog', (dialog) => {
      complaints.push(dialog.message())
      dialog.dismiss().catch(() => undefined)
    })
  })
  afterEach(() => context?.close())

  const picture = (name: string) => takePicture(page, `meshcentral-${name}`)
  const signInAtIdp = async (person: Person) => {
    await page.getByLabel('User name').fill(person.username)
    await page.getByLabel('Password').fill(person.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }
  const welcome = (person: Person) => page.locator('#logoutControlSpan').getByText(`Welcome ${person.name}.`).waitFor()
  const onLoginPage = () => page.locator('#auth-oidc').waitFor()

  it('a user signs in by the button, sees users and groups, and signs out', async () => {
    await signedIn(mesh, mesh.person({ name: 'Bob Builder', groups: ['mesh-users', '<b>bold</b>'] }))
    const admin = mesh.person({ name: 'Alice Example', groups: ['mesh-users', 'mesh-admins'] })

    await page.goto(mesh.url)
    await onLoginPage()
    await picture('login')
    await takeDocumentPicture(page, 'plugin/docs/meshcentral-login.png', { x: 320, y: 220, width: 640, height: 360 })
    await page.locator('#auth-oidc').click()
    await page.getByLabel('User name').waitFor()
    await picture('identity-provider')
    await signInAtIdp(admin)
    await page.waitForURL(mesh.url)
    await welcome(admin)
    await picture('signed-in')

    await page.locator('#LeftMenuMyUsers').click()
    const users = page.locator('#p4')
    const row = (name: string) => users.locator('tr').filter({ hasText: name }).last()
    await row('Alice Example').getByText('Administrator').waitFor()
    await row('Bob Builder').getByText('User').waitFor()
    await picture('users')

    await page.locator('#UsersGroups').click()
    const groups = page.locator('#p50')
    for (const name of ['mesh-users', 'mesh-admins', '‹b›bold‹/b›']) await groups.getByText(name).first().waitFor()
    await picture('groups')
    await groups.getByText('mesh-users').first().click()
    for (const name of ['Alice Example', 'Bob Builder']) await page.locator('#p51').getByText(name).first().waitFor()
    await picture('group')

    await page.getByRole('link', { name: 'Logout' }).click()
    await page.getByRole('button', { name: /^Yes/ }).click()
    await page.waitForURL((url) => url.pathname === `/login`)
    await onLoginPage()
    await picture('signed-out')
    await page.goto(mesh.url)
    await onLoginPage()
    expect(complaints).to.deep.equal([])
  })

  // Shows: meshcentral 6.
  it('the browser runs no script that the IdP puts into an error', async () => {
    const started = await context.request.get(`${mesh.url}auth-oidc`, { maxRedirects: 0 })
    const state = new URL(started.headers().location ?? '').searchParams.get('state') ?? ''
    const text = "<img src=x onerror=alert(1)><script>alert(2)</script>it's"
    const query = new URLSearchParams({ error: text, error_description: text, state, iss: mesh.idp.issuer })
    await page.goto(`${mesh.url}auth-oidc-callback?${query}`)
    await page.getByText('Access denied.').first().waitFor()
    expect(complaints).to.deep.equal([])
  })

  it("MeshCentral shows markup in a user's name as text", async () => {
    const person = mesh.person({ name: '<img src=x onerror=alert(1)> "& Sons', groups: ['mesh-admins'] })
    await page.goto(`${mesh.url}auth-oidc`)
    await signInAtIdp(person)
    await page.locator('#LeftMenuMyUsers').click()
    await page.locator('#p4').getByText('& Sons').first().waitFor()
    expect(complaints).to.deep.equal([])
  })

  it('a user signs in by a form that the IdP posts cross-site', async () => {
    const person = mesh.person()
    await page.goto(`${mesh.urlOf('posted')}auth-oidc`)
    await signInAtIdp(person)
    await page.waitForURL(mesh.urlOf('posted'))
    await welcome(person)
  })

  it('an open page shows the login page and the reason if the IdP ends its session', async () => {
    const person = mesh.person()
    await page.goto(`${mesh.url}auth-oidc`)
    await signInAtIdp(person)
    await welcome(person)
    // The page opens its socket only after the welcome.
    await page.waitForFunction('typeof meshserver !== "undefined" && meshserver.State === 2')
    await mesh.endSessions({ sub: person.sub })
    await page.waitForURL(`${mesh.url}login`)
    await onLoginPage()
    await page.getByText('You were signed out by the sign-in service').waitFor()
    await picture('ended-by-the-idp')
    expect(complaints).to.deep.equal([])
  })

  // Shows: meshcentral 19.
  it('with sessionSameSite strict, a user signs in and sees why a login failed', async () => {
    await mesh.restart({ settings: { sessionSameSite: 'strict' } })
    const person = mesh.person()
    await page.goto(`${mesh.url}auth-oidc?return=/%3Fviewmode=2`)
    await signInAtIdp(person)
    await page.waitForURL(`${mesh.url}?viewmode=2`)
    await welcome(person)

    await context.clearCookies()
    await page.goto(`${mesh.urlOf('closed')}auth-oidc`)
    await signInAtIdp(mesh.person())
    await page.getByText('Unable to create account.').first().waitFor()
    await picture('refused')
    expect(complaints).to.deep.equal([])
  })
})
