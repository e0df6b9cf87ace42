import type { LoginErrorCode } from '../errors.ts'
import { type BrowserCookies, type CookieRules, fullName, setCookie } from './transaction/login-cookie.ts'

const LIFE_MS = 10 * 60_000
const NAME = 'oidc-another-account'

/**
 * Codes of errors that concern only one account. Another account of the user at the IdP may be able to sign in.
 */
const ACCOUNT_REFUSALS: readonly LoginErrorCode[] = ['not_in_required_group', 'account_unknown', 'account_locked']

/** Whether a login that failed with this code could succeed with another account. */
export function couldAnotherAccountHelp(code: LoginErrorCode): boolean {
  return ACCOUNT_REFUSALS.includes(code)
}

/**
 * Makes the IdP ask for the account at this browser's next logins, instead of using the refused one again. The cookie
 * is not sealed, because forging it gains nothing.
 *
 * @returns a value of `Set-Cookie`
 */
export function requestAnotherAccount(rules: CookieRules): string {
  return setCookie(fullName(NAME, rules), '1', LIFE_MS, rules)
}

/**
 * Removes the cookie of {@link requestAnotherAccount} after a successful login.
 *
 * @returns a value of `Set-Cookie`
 */
export function cancelAnotherAccount(rules: CookieRules): string {
  return setCookie(fullName(NAME, rules), '', 0, rules)
}

/** Whether the IdP must ask the user of this browser which account to use for the login. */
export function isAnotherAccountRequested({ cookies, rules }: BrowserCookies): boolean {
  return cookies[fullName(NAME, rules)] !== undefined
}
