import { findForms } from '../../../../fixtures/browser/markup.ts'
import type { Page, ScriptedBrowser } from '../../../../fixtures/browser.ts'
import type { RealIdp } from '../../support/real-idp.ts'
import { apiAt } from './api.ts'

/** The parameters of the login page. Glewlwyd's pages are scripts; this module makes the same requests for a person. */
function loginParameters(page: Page): URLSearchParams | undefined {
  const { pathname, searchParams } = new URL(page.url)
  return pathname === '/login.html' ? searchParams : undefined
}

/** The target of the button "continue". */
const onward = (parameters: URLSearchParams) => `${parameters.get('callback_url')}&g_continue`

/** @param origin receives the requests; a session is valid at each of Glewlwyd's addresses */
export function pagesAt(origin: string): Pick<RealIdp, 'signIn' | 'confirmLogout'> & { asksWho: AsksWho } {
  const asksWho: AsksWho = async (page, browser) => {
    const parameters = loginParameters(page)
    if (!parameters || parameters.get('prompt') === 'end_session') return false
    if (parameters.get('prompt') === 'login' || parameters.has('refresh_login')) return true
    const profiles = await apiAt(origin, browser.cookies)
      .call('GET', '/profile_list')
      .catch(() => [])
    if (!Array.isArray(profiles) || profiles.length === 0) return true
    // Glewlwyd checks the age of the login only when the person continues.
    const { headers } = await browser.step(onward(parameters))
    return headers.location?.includes('/login.html') === true
  }
  return {
    asksWho,

    /** Signs in if the page asks for it, consents to everything requested, and continues. */
    async signIn(browser, page, { username, password }) {
      const parameters = loginParameters(page)
      if (!parameters) return page
      const api = apiAt(origin, browser.cookies)
      if (await asksWho(page, browser)) await api.call('POST', '/auth/', { username, password })
      await api.call('PUT', `/auth/grant/${parameters.get('client_id')}`, { scope: parameters.get('scope') })
      const next = await browser.get(onward(parameters))
      // The page of `form_post` submits itself when loaded, and does not declare itself as HTML.
      const [form] = findForms(next.body, next.url)
      if (!form || !/<body onload="[^"]*submit\(\)/.test(next.body)) return next
      const last = await browser.submit(form)
      return { ...last, trail: [...next.trail, ...last.trail] }
    },

    /** Confirms the sign-out by the first button, which ends this session only. */
    async confirmLogout(browser, page) {
      const parameters = loginParameters(page)
      if (parameters?.get('prompt') !== 'end_session') return page
      const api = apiAt(origin, browser.cookies)
      const path = `/${parameters.get('plugin')}/session/${parameters.get('sid')}`
      const session = (await api.call('GET', `${path}/${parameters.get('client_id')}?${returnQuery(parameters)}`)) as {
        post_redirect_to?: unknown
      }
      await api.call('DELETE', path)
      await api.call('DELETE', '/auth/')
      const callback = parameters.get('callback_url')
      return session.post_redirect_to && callback !== null ? browser.get(callback) : page
    },
  }
}

type AsksWho = (page: Page, browser: ScriptedBrowser) => Promise<boolean>

function returnQuery(parameters: URLSearchParams): string {
  const address = parameters.get('post_redirect_to')
  return address === null ? '' : new URLSearchParams({ post_redirect_to: address }).toString()
}
