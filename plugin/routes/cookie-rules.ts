import type { DomainSettings } from '../config/settings.ts'
import type { CookieRules } from '../login/transaction/login-cookie.ts'
import { mayComeByPost } from '../provider/authorization/response-mode.ts'

/**
 * Returns the strictest cookie rules under which the browser still sends a domain's login cookies with the IdP's
 * answer.
 */
export function cookieRules({ client }: Pick<DomainSettings, 'client'>): CookieRules {
  return { secure: client.redirect_uri.startsWith('https:'), crossSitePost: mayComeByPost(client) }
}
