import type { Page, ScriptedBrowser } from '../../../../fixtures/browser.ts'
import { formWith } from '../../support/pages.ts'
import type { Person } from '../../support/people.ts'

/** Finds the form that confirms. Its field says yes by default; the button that declines changes it by a script. */
export const confirmation = (page: Page) => formWith(page, 'confirm')
/** Finds the form that precedes a repeated login: it asks whether to sign in again. */
export const renewal = (page: Page) => page.forms.find(({ action }) => action.endsWith('/renewsession'))

/** Goes from the login page through all further pages back to the host. */
export async function signInThroughPages(
  browser: ScriptedBrowser,
  first: Page,
  { username, password }: Person,
): Promise<Page> {
  const origin = new URL(first.url).origin
  const trail: string[] = []
  let page = first
  for (let pages = 0; pages < 5; pages += 1) {
    const asking = formWith(page, 'password')
    // A separate script file submits the form of `form_post`.
    const leaving = page.forms.find(({ action }) => new URL(action).origin !== origin)
    const next = asking ?? confirmation(page) ?? leaving
    if (!next || !page.url.startsWith(origin)) break
    page = await browser.submit(next, asking ? { user: username, password } : {})
    trail.push(...page.trail)
  }
  return page === first ? first : { ...page, trail }
}
