import type { Answer, Page, ScriptedBrowser } from '../../../fixtures/browser.ts'
import { answerFromIdp } from '../../support/sign-in-setup.ts'
import type { MeshSetup, Person } from './mesh-setup.ts'

/** MeshCentral's session as it stands in its cookie: signed, not sealed. */
export function sessionOf(browser: ScriptedBrowser, url: string): Readonly<Record<string, unknown>> {
  const cookie = browser.cookies.matching(new URL(url)).find(({ name }) => name === 'xid')
  return cookie ? (JSON.parse(Buffer.from(cookie.value, 'base64').toString()) as Record<string, unknown>) : {}
}

/** The number of the message that MeshCentral's login page shows; null when it shows none or is no such page. */
export function messageOn({ body }: Pick<Answer, 'body'>): number | null {
  const [, id = ''] = /messageid = parseInt\('(\d*)'\)/.exec(body) ?? []
  return id === '' || id === '0' ? null : Number(id)
}

/** Whether an answer is the page of somebody who is signed in. */
export function isApp({ body }: Pick<Answer, 'body'>): boolean {
  return authCookieOn({ body }) !== undefined
}

/** What the signed-in page opens its web sockets with. */
export function authCookieOn({ body }: Pick<Answer, 'body'>): string | undefined {
  return /var authCookie = '([^']+)'/.exec(body)?.[1]
}

/** What the signed-in page hands to devices, for their end of a tunnel. */
export function relayCookieOn({ body }: Pick<Answer, 'body'>): string | undefined {
  return /var authRelayCookie = '([^']+)'/.exec(body)?.[1]
}

export function isLoginPage({ body }: Pick<Answer, 'body'>): boolean {
  return body.includes('messageid = parseInt(')
}

/** Which of its buttons MeshCentral's login page shows. */
export async function buttonsOf(setup: MeshSetup, domain = ''): Promise<readonly string[]> {
  const { body } = await setup.browser().step(`${setup.urlOf(domain)}login`)
  return (/var authStrategies = '([^']*)'/.exec(body)?.[1] ?? '').split(',').filter((name) => name !== '')
}

/** A whole login: at the given address, at the IdP, and wherever that ends. */
export async function signIn(
  setup: MeshSetup,
  browser: ScriptedBrowser,
  person: Person,
  { domain = '', path = 'auth-oidc' } = {},
): Promise<Page> {
  const page = await browser.get(new URL(path, setup.urlOf(domain)).href)
  return browser.signIn(page, person.username, person.password)
}

/** Signs somebody in by a browser of their own. */
export async function signedIn(setup: MeshSetup, person: Person, domain = ''): Promise<ScriptedBrowser> {
  const browser = setup.browser()
  const page = await signIn(setup, browser, person, { domain })
  if (!isApp(page)) throw new Error(`not signed in at ${page.url}: ${page.status}, message ${messageOn(page)}`)
  return browser
}

/** Whether the server still takes the browser for somebody. */
export async function isSignedIn(setup: MeshSetup, browser: ScriptedBrowser, domain = ''): Promise<boolean> {
  return isApp(await browser.step(setup.urlOf(domain)))
}

/** Begins a login and signs in at the IdP, but stops where the browser would go to the callback: that address. */
export function answerOfIdp(
  setup: MeshSetup,
  browser: ScriptedBrowser,
  { username }: Person,
  { domain = '', path = 'auth-oidc' } = {},
): Promise<string> {
  return answerFromIdp(browser, setup.urlOf(domain), username, path)
}

/**
 * A browser with copies of the cookies that another one has for the server, as somebody has who could read them.
 *
 * @param address where it seems to be
 */
export function thiefOf(setup: MeshSetup, browser: ScriptedBrowser, address?: string): ScriptedBrowser {
  const thief = setup.browser(address)
  copyCookies(browser, setup.url, thief)
  return thief
}

/** @param to where the other browser is to send them */
export function copyCookies(from: ScriptedBrowser, at: string, into: ScriptedBrowser, to = at): void {
  for (const { name, value } of from.cookies.matching(new URL(at))) into.cookies.plant(new URL(to), name, value)
}

/** Makes MeshCentral's own kind of account, with a password, which signs the browser in. */
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
