import type { Response } from 'express'
import type { Sessions } from '../host/port.ts'

/**
 * Bytes of all cookies that one response sets. By default, nginx accepts 4 KB of headers; above that, it sends a 502.
 */
const MOST_COOKIE_BYTES = 2_048
/** Bytes of these cookies and the address of the redirect. The rest is for headers of the host and its proxies. */
const MOST_BYTES = 3_072
/** Bytes of a session cookie that holds only an identifier, with its attributes. */
const IDENTIFIER_BYTES = 300

/**
 * Returns how many bytes of `Set-Cookie` a response can still take. The cookies that it already has count, and those
 * that the session may set.
 */
export function remainingCookieBytes(res: Response, sessions: Sessions, address = ''): number {
  const setCookies = [res.getHeader('Set-Cookie') ?? []].flat().join('')
  const sessionBytes = sessions.cookieBytes?.(res.req) ?? IDENTIFIER_BYTES
  return Math.min(MOST_COOKIE_BYTES, MOST_BYTES - address.length) - setCookies.length - sessionBytes
}
