import { hash } from 'node:crypto'
import { parseCookie, stringifySetCookie } from 'cookie'

/** How a domain sets the cookies of its logins. */
export interface CookieRules {
  /**
   * The callback arrives over TLS: sets `Secure` and the `__Host-` prefix, so that no neighbouring host can set the
   * cookie.
   */
  readonly secure: boolean
  /** The answer arrives as a POST from the IdP's page (`form_post`), which carries no `SameSite=Lax` cookie. */
  readonly crossSitePost: boolean
}

/** Values by name, as a browser sent them. */
export type Cookies = Readonly<Record<string, string | undefined>>

/** The cookies that a browser sent with one request, and the rules for cookies that the answer sets. */
export interface BrowserCookies {
  readonly cookies: Cookies
  readonly rules: CookieRules
}

/**
 * Returns a digest that identifies a login. Unlike its secret `state`, it may appear in cookie names and in the
 * database.
 */
export function digestOf(state: string): string {
  return hash('sha256', state, 'base64url').slice(0, 22)
}

/** @param name without the prefix that the rules require */
export function fullName(name: string, { secure }: CookieRules): string {
  return `${secure ? '__Host-' : ''}${name}`
}

/** Parses a `Cookie` header. A route calls this once a request. */
export function readCookies(cookieHeader: string | undefined): Cookies {
  return parseCookie(cookieHeader ?? '')
}

/** Returns a value of `Set-Cookie`. */
export function setCookie(name: string, value: string, maxAgeMs: number, rules: CookieRules): string {
  return stringifySetCookie({
    name,
    value,
    path: '/',
    httpOnly: true,
    secure: rules.secure || rules.crossSitePost,
    sameSite: rules.crossSitePost ? 'none' : 'lax',
    maxAge: Math.floor(maxAgeMs / 1000),
  })
}
