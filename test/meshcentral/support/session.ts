import type { Answer, Page, ScriptedBrowser } from '../../../fixtures/browser.ts'
import { answerFromIdp } from '../../support/sign-in-setup.ts'
import type { MeshSetup, Person } from './mesh-setup.ts'

/** Returns MeshCentral's session from its cookie, which is signed, not sealed. */
export function sessionOf(browser: ScriptedBrowser, url: string): Readonly<Record<string, unknown>> {
  const cookie = browser.cookies.matching(new URL(url)).find(({ name }) => name === 'xid')
  return cookie ? (JSON.parse(Buffer.from(cookie.value, 'base64').toString()) as Record<string, unknown>) : {}
}

/** Returns the number of the message on MeshCentral's login page, or null if there is none. */
export function messageOn({ body }: Pick<Answer, 'body'>): number | null {
  const [, id = ''] = /messageid = parseInt\('(\d*)'\)/.exec(body) ?? []
  return id === '' || id === '0' ? null : Number(id)
}

/** Whether an answer is the page of a signed-in user. */
export function isApp({ body }: Pick<Answer, 'body'>): boolean {
  return authCookieOn({ body }) !== undefined
}

/** Returns the cookie that lets the signed-in page open its web sockets. */
export function authCookieOn({ body }: Pick<Answer, 'body'>): string | undefined {
  return /var authCookie = '([^']+)'/.exec(body)?.[1]
}

/** Returns the cookie that the signed-in page gives to devices for their end of a tunnel. */
export function relayCookieOn({ body }: Pick<Answer, 'body'>): string | undefined {
  return /var authRelayCookie = '([^']+)'/.exec(body)?.[1]
}

export function isLoginPage({ body }: Pick<Answer, 'body'>): boolean {
  return body.includes('messageid = parseInt(')
}

/** Returns the buttons of MeshCentral's login page. */
export async function buttonsOf(setup: MeshSetup, domain = ''): Promise<readonly string[]> {
  const { body } = await setup.browser().step(`${setup.urlOf(domain)}login`)
  return (/var authStrategies = '([^']*)'/.exec(body)?.[1] ?? '').split(',').filter((name) => name !== '')
}

/** Signs in: opens the path, logs in at the IdP, and follows the redirects to the end. */
export async function signIn(
  setup: MeshSetup,
  browser: ScriptedBrowser,
  person: Person,
  { domain = '', path = 'auth-oidc' } = {},
): Promise<Page> {
  const page = await browser.get(new URL(path, setup.urlOf(domain)).href)
  return browser.signIn(page, person.username, person.password)
}

/** Signs a person in with a new browser. */
export async function signedIn(setup: MeshSetup, person: Person, domain = ''): Promise<ScriptedBrowser> {
  const browser = setup.browser()
  const page = await signIn(setup, browser, person, { domain })
  if (!isApp(page)) throw new Error(`not signed in at ${page.url}: ${page.status}, message ${messageOn(page)}`)
  return browser
}

/** Whether the server considers the browser signed in. */
export async function isSignedIn(setup: MeshSetup, browser: ScriptedBrowser, domain = ''): Promise<boolean> {
  return isApp(await browser.step(setup.urlOf(domain)))
}

/** Begins a login and signs in at the IdP, but stops before the callback. Returns the callback's address. */
export function answerOfIdp(
  setup: MeshSetup,
  browser: ScriptedBrowser,
  { username }: Person,
  { domain = '', path = 'auth-oidc' } = {},
): Promise<string> {
  return answerFromIdp(browser, setup.urlOf(domain), username, path)
}

/**
 * Opens a browser with copies of another browser's cookies for the server, as a thief would have them.
 *
 * @param address its apparent address
 */
export function thiefOf(setup: MeshSetup, browser: ScriptedBrowser, address?: string): ScriptedBrowser {
  const thief = setup.browser(address)
  copyCookies(browser, setup.url, thief)
  return thief
}

/** Copies cookies between browsers. @param to the address that the other browser sends them to */
export function copyCookies(from: ScriptedBrowser, url: string, into: ScriptedBrowser, to = url): void {
  for (const { name, value } of from.cookies.matching(new URL(url))) into.cookies.plant(new URL(to), name, value)
}

/** Creates an account of MeshCentral's own kind, with a password, which signs the browser in. */
export async function createLocalAccount(
  setup: MeshSetup,
  browser: ScriptedBrowser,
  name: string,
  domain = '',
): Promise<boolean> {
  const page = await browser.get(`${setup.urlOf(domain)}login`, {
    form: Object.entries({
      action: 'createaccount',
      username: name,
      email: `${name}@example.test`,
      password1: 'a-Password-1',
      password2: 'a-Password-1',
    }),
  })
  return isApp(page)
}
