import type { LoginErrorCode } from '../errors.ts'
import { type BrowserCookies, type CookieRules, fullName, setCookie } from './transaction/login-cookie.ts'

const LIFE_MS = 10 * 60_000
const NAME = 'oidc-another-account'

/** Refusals of one account that may not concern another account of the same user. */
const ACCOUNT_REFUSALS: readonly LoginErrorCode[] = ['not_in_required_group', 'account_unknown', 'account_locked']

/** Whether a login that failed with this code may succeed with another account. */
export function couldAnotherAccountHelp(code: LoginErrorCode): boolean {
  return ACCOUNT_REFUSALS.includes(code)
}

/**
 * Makes the browser's next logins ask which account to use. Otherwise the IdP would sign the refused account in again
 * without asking. The cookie has no secret: to plant it only makes an IdP ask.
 *
 * @returns a value of `Set-Cookie`
 */
export function requestAnotherAccount(rules: CookieRules): string {
  return setCookie(fullName(NAME, rules), '1', LIFE_MS, rules)
}

/** Ends the request of {@link requestAnotherAccount} after a successful login. @returns a value of `Set-Cookie` */
export function cancelAnotherAccount(rules: CookieRules): string {
  return setCookie(fullName(NAME, rules), '', 0, rules)
}

/** Whether this browser's login has to ask which account to use. */
export function isAnotherAccountRequested({ cookies, rules }: BrowserCookies): boolean {
  return cookies[fullName(NAME, rules)] !== undefined
}
