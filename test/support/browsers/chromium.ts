import { launchChromium } from '../chromium.ts'
import type { BrowserDriver } from './driver.ts'

/** Drives Chromium by the Chrome DevTools Protocol. */
export async function startChromium(): Promise<BrowserDriver> {
  const browser = await launchChromium()
  return {
    async person() {
      const context = await browser.newContext({ ignoreHTTPSErrors: true })
      return {
        async newTab() {
          const page = await context.newPage()
          return {
            // It rejects where the page is on its way elsewhere by then.
            goTo: (address) =>
              page.goto(address, { waitUntil: 'commit' }).then(
                () => undefined,
                () => undefined,
              ),
            read: (expression) => page.evaluate(expression),
          }
        },
        close: () => context.close(),
      }
    },
    close: () => browser.close(),
  }
}
