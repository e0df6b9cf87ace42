import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import express, { type Application, type Response } from 'express'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { createExample } from '../../fixtures/example/server.ts'
import { POLICY } from '../../plugin/doctor/page-look.ts'
import { type StatusPage, statusPage } from '../../plugin/doctor/status-page.ts'
import { sendOn } from '../../plugin/meshcentral/pages/login-page.ts'
import type { DomainStatus } from '../../plugin/mount/status/domain-status.ts'
import { sendFragmentPage } from '../../plugin/routes/login/fragment-page.ts'
import { sendLogoutForm } from '../../plugin/routes/logout/logout-form.ts'
import { renderStatusPage } from '../../sidecar/operator/page/status-page.ts'
import { launchChromium } from '../support/chromium.ts'
import { eventfulStatus } from '../support/eventful-status.ts'
import { onLoopback } from '../support/on-loopback.ts'
import { CLIENT, type Setup, setUp } from '../support/sign-in-setup.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** A word longer than any line of a phone, with no blank to break it at. */
const LONG = 'Wolfeschlegelsteinhausenbergerdorffwelchevoralternwarengewissenhaftschafers'
const WIDTHS = [1280, 390]
/**
 * Resolves once the page is loaded and its timers are stopped, so that no page redirects during the check. Sets the
 * background because axe-core assumes white where none is set, even in dark mode.
 */
const SETTLED = `new Promise((settle) => {
  const ready = () => {
    for (let id = setTimeout(() => {}); id > 0; id--) clearTimeout(id)
    const bare = [document.documentElement, document.body].every(
      (element) => getComputedStyle(element).backgroundColor === 'rgba(0, 0, 0, 0)')
    if (bare) document.documentElement.style.backgroundColor = 'Canvas'
    settle()
  }
  if (document.readyState === 'loading') addEventListener('DOMContentLoaded', ready)
  else ready()
})`

const STATUS: DomainStatus = {
  domainKey: 'customer',
  configured: true,
  problems: [],
  warnings: [],
  issuer: `https://${LONG}.example`,
  discovery: { discoveredSince: 1_000, failure: { since: 5, causeCode: 'ECONNREFUSED', remedy: 'Look at `issuer`.' } },
  keySetAgeMs: 61_000,
  lastLogin: 5_000,
  refusals: [{ time: 1, times: 2, event: 'login-failed', code: 'internal', remedy: LONG, account: LONG }],
  loginWarnings: [{ time: 1, times: 2, event: 'userinfo-failed', message: LONG, account: LONG, otherAccount: LONG }],
  uncheckedSessions: 0,
  groupRights: [{ group: LONG, rights: ['recordings'] }],
  addresses: {
    redirect: `https://${LONG}.example/auth-oidc-callback`,
    postLogout: null,
    backchannelLogout: 'https://mesh.example/auth-oidc-backchannel-logout',
    frontchannelLogout: 'https://mesh.example/auth-oidc-frontchannel-logout',
    keySet: null,
  },
}

const IS_DARK = `[document.body, document.documentElement].map((element) => getComputedStyle(element).backgroundColor)
  .filter((color) => color !== 'rgba(0, 0, 0, 0)')[0].match(/\\d+/g).every((part) => part < 64)`

/** Pixels between the card of a page and the edge of the window; 100 if the page has no card. */
const CARD_DISTANCE = `Math.min(100, ...[...document.querySelectorAll('main')]
  .filter((main) => getComputedStyle(main).borderLeftWidth !== '0px')
  .map((main) => main.getBoundingClientRect()).map(({ left, right }) => Math.min(left, innerWidth - right)))`

/**
 * Checks every page of the product, its fixtures and its example: axe-core finds no violation, and nothing overflows.
 */
describe('accessibility of the pages in a browser', () => {
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let setup: Setup
  let folder: string
  let url: string
  let exampleUrl: string
  const closing: (() => Promise<void>)[] = []

  before(async () => {
    browser = await launchChromium()
    setup = await setUp({ oidc: { groups: { sync: true } } })
    setup.idp.setUser({
      username: 'long',
      password: 'long-demo',
      sub: 'u-long',
      claims: { name: LONG, email: `${LONG}@example.test`, groups: [LONG] },
    })
    folder = await mkdtemp(join(tmpdir(), 'accessibility-'))
    url = await serve(ownPages)
    exampleUrl = await example()
  })
  after(async () => {
    await browser.close()
    for (const close of closing) await close()
    await setup.close()
    await rm(folder, { recursive: true })
  })
  afterEach(() => context.close())

  async function serve(appOf: (url: string) => Application | Promise<Application>): Promise<string> {
    const server = createServer()
    const { url: origin, close } = await onLoopback(server)
    closing.push(close)
    const url = `${origin}/`
    server.on('request', await appOf(url))
    return url
  }

  function ownPages(url: string): Application {
    const app = express()
    const status = (res: Response, more: Partial<StatusPage> = {}) =>
      res.set('Content-Security-Policy', POLICY).send(
        statusPage({
          status: STATUS,
          notes: [LONG],
          check: { kind: 'never' },
          token: 't',
          look: null,
          moveHref: '?page=move',
          now: 9e4,
          ...more,
        }),
      )
    app.get('/fragment', (_req, res) => sendFragmentPage(res, '/login'))
    app.get('/logout-form', (_req, res) => sendLogoutForm(res, new URL(`${url}nowhere`), { id_token_hint: LONG }))
    app.get('/going-on', (_req, res) => sendOn(res, '/nowhere', true))
    app.get('/status', (_req, res) => status(res))
    app.get('/status-running', (_req, res) => status(res, { check: { kind: 'running', since: 1 } }))
    const verdicts = [{ question: 'discovery', verdict: 'warn', text: LONG }] as const
    app.get('/status-checked', (_req, res) => status(res, { check: { kind: 'done', endedAt: 1, verdicts } }))
    app.get('/status-none', (_req, res) => status(res, { status: undefined }))
    app.get('/sidecar', (_req, res) => res.send(renderStatusPage(eventfulStatus(), true)))
    // Answers 204 to redirects, so that the browser stays on the page under test.
    app.use((_req, res) => res.status(204).end())
    return app
  }

  async function example(): Promise<string> {
    return serve(async (url) => {
      const client = { ...CLIENT, client_id: 'example', redirect_uri: `${url}auth-oidc-callback` }
      await setup.idp.addClient({ ...CLIENT, client_id: 'example', redirect_uris: [client.redirect_uri] })
      const oidc = { issuer: setup.idp.issuer, client, newAccounts: true, groups: { sync: true } }
      const config = {
        settings: { cert: '127.0.0.1' },
        domains: { '': { dns: '127.0.0.1', authStrategies: { oidc } } },
      }
      const { app, oidc: running } = await createExample({
        config,
        accountsFile: join(folder, 'accounts.sqlite'),
        secret: 'a secret of the example, of 32 characters and more',
      })
      closing.push(running.close)
      return app
    })
  }

  const signIn = async (url: string) => {
    await page.goto(`${url}auth-oidc`)
    await page.getByLabel('User name').fill('long')
    await page.getByLabel('Password').fill('long-demo')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(url)
  }

  const PAGES: Readonly<Record<string, () => Promise<unknown>>> = {
    'login page of the host': () => page.goto(`${setup.host.url}login`),
    'login page of the host after a failure': () => page.goto(`${setup.host.url}login?failure=not_allowed`),
    'not-found page of the host': () => page.goto(`${setup.host.url}nowhere`),
    'start page of the host': () => signIn(setup.host.url),
    'sign-in page of the provider': () => page.goto(`${setup.host.url}auth-oidc`),
    'sign-out page of the provider': async () => {
      await signIn(setup.host.url)
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('button', { name: /^Yes/ }).waitFor()
    },
    'login page of the example': async () => page.goto(`${exampleUrl}login?failure=not_allowed`),
    'start page of the example': async () => signIn(exampleUrl),
    'page that posts an answer in the fragment': () => page.goto(`${url}fragment`),
    'logout form': () => page.goto(`${url}logout-form`, { waitUntil: 'commit' }),
    'page that redirects by itself': () => page.goto(`${url}going-on`, { waitUntil: 'commit' }),
    'status page of the plugin': () => page.goto(`${url}status`),
    'status page of the plugin while it checks the provider': () => page.goto(`${url}status-running`),
    'status page of the plugin after the check': () => page.goto(`${url}status-checked`),
    'status page of a domain without single sign-on': () => page.goto(`${url}status-none`),
    'status page of the sidecar': () => page.goto(`${url}sidecar`),
  }

  for (const [name, open] of Object.entries(PAGES)) {
    it(`the page is accessible in both color schemes and fits every width: ${name}`, async () => {
      context = await browser.newContext({ bypassCSP: true, viewport: { width: 1280, height: 844 } })
      context.setDefaultTimeout(15_000)
      page = await context.newPage()
      await open()
      await page.evaluate(SETTLED)
      await page.evaluate(AXE)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: 844 })
          const { violations } = (await page.evaluate("axe.run({ resultTypes: ['violations'] })")) as {
            violations: Violation[]
          }
          const problems = violations.map(
            ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' ')}`,
          )
          expect(problems, `${colorScheme}, ${width}`).to.deep.equal([])
          const isDark = await page.evaluate(IS_DARK)
          expect(isDark, 'dark').to.equal(colorScheme === 'dark')
          expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), `${width}`).to.be.at.most(0)
          expect(await page.evaluate(CARD_DISTANCE), `${width}`).to.be.at.least(16)
        }
      }
    })
  }
})

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string }[]
}
