import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { type Setup, type SetupOptions, setUp } from './sign-in-setup.ts'

const SCREENSHOTS = fileURLToPath(new URL('../../.ci/output/screenshots', import.meta.url))

/** Launches the Chromium that is installed on this machine. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking'],
      ...['--disable-component-update', '--disable-sync'],
    ],
  })
}

/** Saves a screenshot of a page in the output folder of the test run. */
export async function takePicture(page: Page, name: string, fullPage = false): Promise<void> {
  mkdirSync(SCREENSHOTS, { recursive: true })
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage })
}

/** Opens pages in Chromium. Each test has its own browser context, host and provider. Call inside a `describe`. */
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
