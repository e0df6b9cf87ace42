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
            // `goto` rejects if the page is already navigating elsewhere. This is no failure.
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
