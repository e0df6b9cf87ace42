import { existsSync } from 'node:fs'
import { until } from '../until.ts'
import { startChromium } from './chromium.ts'
import type { BrowserDriver, BrowserUser, Tab } from './driver.ts'
import { FIREFOX, startFirefox } from './firefox.ts'
import { startWebKit, WEBKIT_DRIVER, X_SERVER } from './webkit.ts'

/** The browsers. `needs`: the programs that a browser needs, by their Debian package. */
const BROWSERS: Readonly<Record<string, { start(): Promise<BrowserDriver>; needs: Readonly<Record<string, string>> }>> =
  {
    Chromium: { start: startChromium, needs: { chromium: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium' } },
    'Firefox ESR': { start: startFirefox, needs: { 'firefox-esr': FIREFOX } },
    WebKitGTK: { start: startWebKit, needs: { 'webkit2gtk-driver': WEBKIT_DRIVER, xvfb: X_SERVER } },
  }

export const BROWSER_NAMES = Object.keys(BROWSERS)

/** A user with a browser. Each test has a new user. */
export type PersonWithBrowser = ReturnType<typeof useBrowser>

/**
 * Starts a browser for the tests of one `describe`. If it is not installed, they are skipped and the reason is printed;
 * in CI they fail.
 */
export function useBrowser(name: string) {
  const { start, needs } = BROWSERS[name] ?? { start: startChromium, needs: {} }
  let driver: BrowserDriver | undefined
  let user: BrowserUser | undefined
  before(async function () {
    const missing = Object.keys(needs).filter((program) => !existsSync(needs[program] ?? ''))
    if (missing.length > 0) {
      const reason = `${name} is not installed (Debian: apt-get install ${missing.join(' ')}).`
      if (process.env.CI !== undefined) throw new Error(reason)
      console.log(`      left out: ${reason}`)
      this.skip()
    }
    driver = await start()
  })
  afterEach(async () => {
    await user?.close()
    user = undefined
  })
  after(() => driver?.close())
  return {
    async tab(): Promise<Tab> {
      user ??= await driver?.person()
      if (!user) throw new Error('There is no browser.')
      return user.newTab()
    },
  }
}

/**
 * Waits until an expression is true in the tab. While the tab changes from one document to the next, it is not true.
 */
export async function sees(tab: Tab, expression: string): Promise<void> {
  let last: unknown
  await until(`a tab to see ${expression}`, () => tab.read(expression).then(Boolean, () => false), 20_000).catch(
    async (error: unknown) => {
      last = await tab.read('location.href + "\\n" + document.body.innerText').catch(String)
      throw new Error(`${String(error)}; it is at ${String(last)}`)
    },
  )
}

/** Waits until the tab has loaded the document of an address. With `exactly: false`, the address may continue. */
export function arrives(tab: Tab, address: string, { exactly = true } = {}): Promise<void> {
  const exact = exactly
    ? `location.href === ${JSON.stringify(address)}`
    : `location.href.startsWith(${JSON.stringify(address)})`
  return sees(tab, `${exact} && document.readyState === 'complete'`)
}

/** Waits for a link or button whose text matches, and presses the first one. */
export async function press(tab: Tab, text: RegExp): Promise<void> {
  const clickable = `[...document.querySelectorAll('a, button')].find((one) => ${String(text)}.test(one.textContent.trim()))`
  await sees(tab, `document.readyState === 'complete' && ${clickable} !== undefined`)
  await tab.read(`${clickable}.click()`)
}

/** Waits for the sign-in page of the IdP. */
export function isAsked(tab: Tab): Promise<void> {
  return sees(tab, `document.readyState === 'complete' && document.querySelector('input[name=password]') !== null`)
}

/** Fills in the sign-in page of the IdP. */
export async function signInAtIdp(tab: Tab, username: string): Promise<void> {
  await isAsked(tab)
  const fill = (name: string, value: string) => `document.querySelector('input[name=${name}]').value = '${value}'`
  await tab.read(`(${fill('username', username)}, ${fill('password', `${username}-demo`)})`)
  await press(tab, /./)
}
