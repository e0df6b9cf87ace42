import type { Response } from 'express'
import type { Sessions } from '../host/port.ts'

/**
 * Limit of bytes for all cookies that one response sets. By default, nginx answers 502 if a response has more than 4 KB
 * of headers.
 */
const MOST_COOKIE_BYTES = 2_048
/**
 * Limit of bytes for the cookies and the redirect address together. The rest of nginx's 4 KB is reserved for headers of
 * the host and its proxies.
 */
const MOST_BYTES = 3_072
/** Size of a session cookie that contains only an identifier, in bytes, with its attributes. */
const IDENTIFIER_BYTES = 300

/**
 * Returns how many bytes of `Set-Cookie` a response can still take. Subtracts the cookies that the response already
 * sets, and those that the session may set.
 */
export function remainingCookieBytes(res: Response, sessions: Sessions, address = ''): number {
  const setCookies = [res.getHeader('Set-Cookie') ?? []].flat().join('')
  const sessionBytes = sessions.cookieBytes?.(res.req) ?? IDENTIFIER_BYTES
  return Math.min(MOST_COOKIE_BYTES, MOST_BYTES - address.length) - setCookies.length - sessionBytes
}
