import { expect } from 'chai'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { HttpListener } from '../../sidecar/api/http-listener.ts'
import { VERSION } from '../../sidecar/config/version.ts'
import type { Status } from '../../sidecar/operator/page/status.ts'
import { renderStatusPage } from '../../sidecar/operator/page/status-page.ts'
import { launchChromium, takePicture } from '../support/chromium.ts'
import { takeDocumentPicture } from '../support/document-picture.ts'
import { eventfulStatus } from '../support/eventful-status.ts'
import { serveOperatorPort } from '../support/operator-port.ts'

describe("the sidecar's status page in a browser", () => {
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let problems: string[]

  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser.close())
  afterEach(() => context.close())

  async function open(url: string, options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
    context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 1280, height: 900 }, ...options })
    context.setDefaultTimeout(15_000)
    page = await context.newPage()
    problems = []
    page.on('console', (message) => problems.push(message.text()))
    page.on('requestfailed', (request) => problems.push(request.url()))
    page.on('request', (request) => {
      if (!request.url().startsWith(url)) problems.push(request.url())
    })
    await page.goto(url)
    return page
  }
  const picture = (name: string) => takePicture(page, name, true)

  const bodyText = async () => (await page.locator('body').allInnerTexts()).join(' ').replaceAll(/\s+/g, ' ')

  const serve = (changes: Partial<Status> = {}) => {
    const { now } = eventfulStatus()
    let loads = 0
    return serveOperatorPort({
      statusPage: async (refresh) =>
        renderStatusPage(eventfulStatus({ now: now + 1000 * loads++, ...changes }), refresh),
    })
  }

  it("the sidecar's status page says Ready if the database, APRS-IS and gateways work", async () => {
    const gateways = eventfulStatus().gateways.map((gateway) => ({
      ...gateway,
      state: 'working' as const,
      lastRefused: undefined,
    }))
    const busy = await serve({ version: VERSION, obstacles: [], gateways })
    try {
      const screen = { viewport: { width: 1120, height: 652 }, deviceScaleFactor: 0.7, colorScheme: 'light' } as const
      await open(busy.url, { ...screen, javaScriptEnabled: true })
      expect(await bodyText())
        .to.include('✓ Ready.')
        .and.not.include('✗ Not ready.')
      await takeDocumentPicture(page, 'sidecar/docs/status-page.png', { x: 0, y: 0, width: 1120, height: 652 })
    } finally {
      await busy.close()
    }
  })

  describe("the sidecar's status page after outages", () => {
    let eventful: HttpListener
    before(async () => {
      eventful = await serve()
    })
    after(() => eventful.close())

    for (const colorScheme of ['light', 'dark'] as const) {
      // Shows: sidecar C12.7, O1.5.
      it(`the sidecar's status page shows outages in the ${colorScheme} color scheme`, async () => {
        await open(eventful.url, { colorScheme, javaScriptEnabled: true })
        await picture(`status-eventful-${colorScheme}`)
        expect(problems).to.deep.equal([])
        expect(await page.title()).to.match(/^Not ready/)
        const text = await bodyText()
        for (const part of [
          '✗ Not ready.',
          'upstream_filter_unconfirmed',
          '○ down, retrying soon',
          '<script>alert("it\'s")</script>&amp;',
          '✗ refuses notifications',
        ])
          expect(text).to.include(part)
        // The only script is the one that reloads the page.
        expect(await page.locator('script').count()).to.equal(1)
        // The contrast between the bar and its track is at least 3:1.
        const colors = await page.evaluate(`['.bar', '.track']
          .map((part) => getComputedStyle(document.querySelector('.room ' + part)).fill)`)
        const [bar = '', paper = ''] = colors as string[]
        expect(contrast(bar, paper)).to.be.at.least(3)
      })
    }

    it("the sidecar's status page reloads until the reader stops it, also by keyboard", async () => {
      await open(eventful.url, { javaScriptEnabled: true })
      const shownAt = () => page.locator('time').first().getAttribute('datetime')
      const firstTime = await shownAt()
      await page.clock.install()
      await page.reload()
      const loaded = page.waitForEvent('load')
      await page.clock.runFor(31_000)
      await loaded
      expect(await shownAt()).to.not.equal(firstTime)
      await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      await page.getByRole('link', { name: 'Refresh every 30 s' }).waitFor()
      expect(await page.locator('script').count()).to.equal(0)
    })

    // Shows: sidecar C12.7.
    it("the sidecar's status page fits a phone; only its table scrolls sideways", async () => {
      await open(eventful.url, { viewport: { width: 390, height: 844 } })
      await picture('status-phone')
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).to.equal(0)
      const ends = await page
        .locator('.totals b')
        .evaluateAll((numbers) => numbers.map((number) => Math.round(number.getBoundingClientRect().right)))
      expect(ends.length).to.be.above(5)
      expect(new Set(ends)).to.have.property('size', 1)
      const events = page.getByRole('list', { name: 'Warnings and errors, newest first' })
      const texts = await events.locator('.words').all()
      expect(texts.length).to.equal(eventfulStatus().events.length)
      for (const text of texts) {
        const box = await text.boundingBox()
        expect(box?.x).to.be.within(0, 40)
        // The text of the event has nearly the whole width.
        expect(box?.width).to.be.within(320, 390)
        expect(await text.evaluate((element) => element.scrollWidth - element.clientWidth)).to.equal(0)
      }
      for (const gateway of await page.locator('.gateway').all()) {
        expect(await gateway.evaluate((element) => element.scrollWidth - element.clientWidth)).to.equal(0)
      }
      const table = page.getByRole('region', { name: 'Connections to APRS-IS' })
      expect(await table.evaluate((element) => element.scrollWidth > element.clientWidth)).to.equal(true)
    })
  })
})

/** Returns the contrast ratio of two colours as a browser computes them, `rgb(…)` (WCAG 2.2, 1.4.11). */
function contrast(first: string, second: string): number {
  const [light = 0, dark = 0] = [first, second].map(luminance).sort((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05)
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = (color.match(/\d+/g) ?? []).map((part) => {
    const share = Number(part) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
