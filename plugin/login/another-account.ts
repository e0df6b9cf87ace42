import type { LoginErrorCode } from '../errors.ts'
import { type CookieRules, fullName, readCookies, setCookie } from './transaction/login-cookie.ts'

const LASTS_MS = 10 * 60_000
const NAME = 'oidc-another-account'

/** What refuses this account, and might not refuse another one of the same person. */
const MENDABLE: readonly LoginErrorCode[] = ['not_in_required_group', 'account_unknown', 'account_locked']

export function couldAnotherAccountMend(code: LoginErrorCode): boolean {
  return MENDABLE.includes(code)
}

/**
 * Remembers with the browser that its next logins are to let the person choose: the IdP would sign the refused account
 * in again without a question. A value of `Set-Cookie`; it holds nothing, and whoever plants it makes an IdP ask.
 */
export function wantAnotherAccount(rules: CookieRules): string {
  return setCookie(fullName(NAME, rules), '1', LASTS_MS, rules)
}

/** Forgets it: somebody is in. A value of `Set-Cookie`. */
export function anotherAccountIsIn(rules: CookieRules): string {
  return setCookie(fullName(NAME, rules), '', 0, rules)
}

export function isAnotherAccountWanted(rules: CookieRules, cookieHeader: string | undefined): boolean {
  // Hardly any browser has it, and all of them send cookies that it takes time to read.
  if (!cookieHeader?.includes(NAME)) return false
  return readCookies(cookieHeader)[fullName(NAME, rules)] !== undefined
}
