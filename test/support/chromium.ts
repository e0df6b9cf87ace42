import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { type Setup, type SetupOptions, setUp } from './sign-in-setup.ts'

const SCREENSHOTS = fileURLToPath(new URL('../../.ci/output/screenshots', import.meta.url))

/** The Chromium of the machine. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking'],
      ...['--disable-component-update', '--disable-sync'],
    ],
  })
}

/** Keeps what a page looks like with the output of the run. */
export async function takePicture(page: Page, name: string, fullPage = false): Promise<void> {
  mkdirSync(SCREENSHOTS, { recursive: true })
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage })
}

/** A page of a browser context of its own at a host and a provider of each test's own. Call inside a `describe`. */
export function pagesAtHost() {
  let browser: Browser
  let context: BrowserContext
  let setup: Setup
  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser.close())
  afterEach(async () => {
    await context.close()
    await setup.close()
  })
  return {
    get setup() {
      return setup
    },
    async open(options: SetupOptions = {}, javaScriptEnabled = true): Promise<Page> {
      setup = await setUp(options)
      context = await browser.newContext({ javaScriptEnabled })
      context.setDefaultTimeout(15_000)
      return context.newPage()
    },
  }
}
