import { findForms } from '../../../../fixtures/browser/markup.ts'
import type { Page, ScriptedBrowser } from '../../../../fixtures/browser.ts'
import type { RealIdp } from '../../support/real-idp.ts'
import { apiAt } from './api.ts'

/** Its pages are scripts: what they do for a person is done here, by the same calls. */
function askedBy(page: Page): URLSearchParams | undefined {
  const { pathname, searchParams } = new URL(page.url)
  return pathname === '/login.html' ? searchParams : undefined
}

/** Where the button "continue" leads. */
const onward = (asked: URLSearchParams) => `${asked.get('callback_url')}&g_continue`

/** @param origin where its calls go: sessions are the same at each of its addresses */
export function pagesAt(origin: string): Pick<RealIdp, 'signIn' | 'confirmLogout'> & { asksWho: AsksWho } {
  const asksWho: AsksWho = async (page, browser) => {
    const asked = askedBy(page)
    if (!asked || asked.get('prompt') === 'end_session') return false
    if (asked.get('prompt') === 'login' || asked.has('refresh_login')) return true
    const known = await apiAt(origin, browser.cookies)
      .call('GET', '/profile_list')
      .catch(() => [])
    if (!Array.isArray(known) || known.length === 0) return true
    // Whether the login is too old it finds out when the person goes on.
    const { headers } = await browser.step(onward(asked))
    return headers.location?.includes('/login.html') === true
  }
  return {
    asksWho,

    /** Name and password where they are asked for, consent to all that is asked, and on. */
    async signIn(browser, page, { username, password }) {
      const asked = askedBy(page)
      if (!asked) return page
      const api = apiAt(origin, browser.cookies)
      if (await asksWho(page, browser)) await api.call('POST', '/auth/', { username, password })
      await api.call('PUT', `/auth/grant/${asked.get('client_id')}`, { scope: asked.get('scope') })
      const next = await browser.get(onward(asked))
      // The page of `form_post` sends its form as it is loaded, and does not say that it is HTML.
      const [form] = findForms(next.body, next.url)
      if (!form || !/<body onload="[^"]*submit\(\)/.test(next.body)) return next
      const last = await browser.submit(form)
      return { ...last, trail: [...next.trail, ...last.trail] }
    },

    /** Its question whether to sign out, answered with the first button: this session, nothing else. */
    async confirmLogout(browser, page) {
      const asked = askedBy(page)
      if (asked?.get('prompt') !== 'end_session') return page
      const api = apiAt(origin, browser.cookies)
      const session = `/${asked.get('plugin')}/session/${asked.get('sid')}`
      const told = (await api.call('GET', `${session}/${asked.get('client_id')}?${leadsBack(asked)}`)) as {
        post_redirect_to?: unknown
      }
      await api.call('DELETE', session)
      await api.call('DELETE', '/auth/')
      const back = asked.get('callback_url')
      return told.post_redirect_to && back !== null ? browser.get(back) : page
    },
  }
}

type AsksWho = (page: Page, browser: ScriptedBrowser) => Promise<boolean>

function leadsBack(asked: URLSearchParams): string {
  const address = asked.get('post_redirect_to')
  return address === null ? '' : new URLSearchParams({ post_redirect_to: address }).toString()
}
