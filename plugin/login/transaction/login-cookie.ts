import { hash } from 'node:crypto'
import { parseCookie, stringifySetCookie } from 'cookie'

/** The settings that determine the attributes of a domain's login cookies. */
export interface CookieRules {
  /**
   * Whether the callback uses TLS. If so, cookies get `Secure` and the `__Host-` prefix, so that no other host of the
   * same domain can set them.
   */
  readonly secure: boolean
  /**
   * Whether the answer arrives as a POST from the IdP's page (`form_post`). Browsers send no `SameSite=Lax` cookies
   * with such a POST.
   */
  readonly crossSitePost: boolean
}

/** Cookie values by name, as the browser sent them. */
export type Cookies = Readonly<Record<string, string | undefined>>

/** The cookies of one request, and the rules for the cookies that its response sets. */
export interface BrowserCookies {
  readonly cookies: Cookies
  readonly rules: CookieRules
}

/**
 * Returns a digest that identifies a login. Unlike the secret `state`, the digest may appear in cookie names and in the
 * database.
 */
export function digestOf(state: string): string {
  return hash('sha256', state, 'base64url').slice(0, 22)
}

/**
 * Returns the cookie's full name.
 *
 * @param name the name without the prefix that the rules require
 */
export function fullName(name: string, { secure }: CookieRules): string {
  return `${secure ? '__Host-' : ''}${name}`
}

/** Parses a `Cookie` header. Each route calls this once per request. */
export function readCookies(cookieHeader: string | undefined): Cookies {
  return parseCookie(cookieHeader ?? '')
}

/** Returns a value of the header `Set-Cookie` with the attributes that `rules` require. */
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
