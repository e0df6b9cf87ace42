import { hash } from 'node:crypto'
import { parseCookie, stringifySetCookie } from 'cookie'

export interface CookieRules {
  /**
   * The callback comes in over TLS: `Secure`, and the `__Host-` prefix, so that no neighbouring host name can plant
   * one.
   */
  readonly secure: boolean
  /** The answer comes as a POST from the IdP's page (`form_post`), which carries no `SameSite=Lax` cookie. */
  readonly crossSitePost: boolean
}

/** Values by name, as a browser sent them. */
export type Cookies = Readonly<Record<string, string | undefined>>

/** What a login is called where others can read it. */
export function digestOf(state: string): string {
  return hash('sha256', state, 'base64url').slice(0, 22)
}

/** @param name without the prefix that the rules demand */
export function fullName(name: string, { secure }: CookieRules): string {
  return `${secure ? '__Host-' : ''}${name}`
}

export function readCookies(cookieHeader: string | undefined): Cookies {
  return parseCookie(cookieHeader ?? '')
}

/** A value of `Set-Cookie`. */
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
