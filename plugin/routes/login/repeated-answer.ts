import type { Request, Response } from 'express'
import type { SignIn } from '../../host/port.ts'
import type { BrowserCookies } from '../../login/transaction/login-cookie.ts'
import { remainingCookieBytes } from '../cookie-budget.ts'
import type { RouteDeps } from '../strategy.ts'

/**
 * Stores in the browser the path to which the login redirected the browser. The path is needed if a reload or the back
 * button sends the same answer again.
 */
export function rememberLanding(
  state: string,
  session: Pick<SignIn, 'domainKey' | 'userId' | 'startedAt'>,
  path: string,
  { rules }: BrowserCookies,
  { host, landings }: RouteDeps,
  res: Response,
): void {
  const landing = landings.remember(state, session, path, rules)
  // If the path is long and the session cookie large, the response has no space for the cookie with the path. If the
  // IdP's answer arrives again, it is refused.
  if (landing.length <= remainingCookieBytes(res, host.sessions, path)) res.append('Set-Cookie', landing)
}

/**
 * Returns the path to which the login with this answer redirected the browser, if that login's session still exists.
 */
export async function earlierLanding(
  state: string,
  { cookies, rules }: BrowserCookies,
  { host, landings }: RouteDeps,
  req: Request,
): Promise<string | undefined> {
  const session = await host.sessions.current(req).catch(() => undefined)
  return landings.find(state, session, rules, cookies)
}
