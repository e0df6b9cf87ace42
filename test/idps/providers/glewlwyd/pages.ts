import type { Page, ScriptedBrowser } from '../../../../fixtures/browser.ts'
import type { Person } from '../../support/people.ts'
import { apiAt } from './api.ts'

/** Its pages are scripts: what they do for a person is done here, by the same calls. */
function scriptOf(page: Page): { readonly origin: string; readonly asked: URLSearchParams } | undefined {
  const { origin, pathname, searchParams } = new URL(page.url)
  return pathname === '/login.html' ? { origin, asked: searchParams } : undefined
}

/** Where the button "continue" leads. */
const onward = (asked: URLSearchParams) => `${asked.get('callback_url')}&g_continue`

/** Whether its login page shows fields for name and password to this browser. */
export async function asksForPassword(page: Page, browser: ScriptedBrowser): Promise<boolean> {
  const script = scriptOf(page)
  if (!script || script.asked.get('prompt') === 'end_session') return false
  const { origin, asked } = script
  if (asked.get('prompt') === 'login' || asked.has('refresh_login')) return true
  const known = await apiAt(origin, browser.cookies)
    .call('GET', '/profile_list')
    .catch(() => [])
  if (!Array.isArray(known) || known.length === 0) return true
  // Whether its login is too old it finds out when the person goes on.
  const { headers } = await browser.step(onward(asked))
  return headers.location?.startsWith(`${origin}/login.html`) === true
}

/** Name and password where they are asked for, consent to all that is asked, and on. */
export async function walkIn(browser: ScriptedBrowser, page: Page, { username, password }: Person): Promise<Page> {
  const script = scriptOf(page)
  if (!script) return page
  const { origin, asked } = script
  const api = apiAt(origin, browser.cookies)
  if (await asksForPassword(page, browser)) await api.call('POST', '/auth/', { username, password })
  await api.call('PUT', `/auth/grant/${asked.get('client_id')}`, { scope: asked.get('scope') })
  return browser.get(onward(asked))
}

/** Its question whether to sign out, answered with the first button: this session, nothing else. */
export async function signOut(browser: ScriptedBrowser, page: Page): Promise<Page> {
  const script = scriptOf(page)
  if (script?.asked.get('prompt') !== 'end_session') return page
  const { origin, asked } = script
  const api = apiAt(origin, browser.cookies)
  const session = `/${asked.get('plugin')}/session/${asked.get('sid')}`
  const told = (await api.call('GET', `${session}/${asked.get('client_id')}?${leadsBack(asked)}`)) as {
    post_redirect_to?: unknown
  }
  await api.call('DELETE', session)
  await api.call('DELETE', '/auth/')
  const back = asked.get('callback_url')
  return told.post_redirect_to && back !== null ? browser.get(back) : page
}

function leadsBack(asked: URLSearchParams): string {
  const address = asked.get('post_redirect_to')
  return address === null ? '' : new URLSearchParams({ post_redirect_to: address }).toString()
}
