import type { DomainSettings } from '../config/settings.ts'
import type { CookieRules } from '../login/transaction/login-cookie.ts'
import { mayComeByPost } from '../provider/authorization/response-mode.ts'

/**
 * How the transaction cookie of a domain has to be set, so that it comes back with the answer of the IdP and with
 * nothing less.
 */
export function cookieRules(settings: DomainSettings): CookieRules {
  return { secure: settings.client.redirect_uri.startsWith('https:'), crossSitePost: mayComeByPost(settings.client) }
}
