import type { Response } from 'express'
import type { Sessions } from '../host/port.ts'

/**
 * Of all cookies that one answer sets, whole values: nginx takes 4 KB of answer headers with its defaults, else the
 * login is a 502.
 */
const MOST_COOKIE_BYTES = 2_048
/** Of these and the address that the browser is sent to. The rest is for what the host and its proxies add. */
const MOST_BYTES = 3_072
/** Of a session that is an identifier, with its attributes. */
const IDENTIFIER_BYTES = 300

/**
 * How many bytes of `Set-Cookie` there is room for in an answer, beside those that it has and what the session's own
 * may take.
 */
export function roomForCookies(res: Response, sessions: Sessions, address = ''): number {
  const set = [res.getHeader('Set-Cookie') ?? []].flat().join('')
  const session = sessions.cookieBytes?.(res.req) ?? IDENTIFIER_BYTES
  return Math.min(MOST_COOKIE_BYTES, MOST_BYTES - address.length) - set.length - session
}
