import type { Page, ScriptedBrowser } from '../../../../fixtures/browser.ts'
import { formWith } from '../../support/pages.ts'
import type { Person } from '../../support/people.ts'

/** The page's own field says yes; the button that says no changes it by a script. */
export const confirmation = (page: Page) => formWith(page, 'confirm')
/** Before it asks again who is there, it asks whether to ask. */
export const renewal = (page: Page) => page.forms.find(({ action }) => action.endsWith('/renewsession'))

/** From the login page through whatever it asks, back to the host. */
export async function walkIn(browser: ScriptedBrowser, first: Page, { username, password }: Person): Promise<Page> {
  const origin = new URL(first.url).origin
  const trail: string[] = []
  let page = first
  for (let pages = 0; pages < 5; pages += 1) {
    const asking = formWith(page, 'password')
    // A script of its own in a file sends the form of `form_post`.
    const leaving = page.forms.find(({ action }) => new URL(action).origin !== origin)
    const next = asking ?? confirmation(page) ?? leaving
    if (!next || !page.url.startsWith(origin)) break
    page = await browser.submit(next, asking ? { user: username, password } : {})
    trail.push(...page.trail)
  }
  return page === first ? first : { ...page, trail }
}
