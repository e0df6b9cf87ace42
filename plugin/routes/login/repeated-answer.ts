import type { Request, Response } from 'express'
import type { SignIn } from '../../host/port.ts'
import type { BrowserCookies } from '../../login/transaction/login-cookie.ts'
import { remainingCookieBytes } from '../cookie-budget.ts'
import type { RouteDeps } from '../strategy.ts'

/** Stores in the browser where its login led, because a reload or the back button may send the same answer again. */
export function rememberLanding(
  state: string,
  session: Pick<SignIn, 'domainKey' | 'userId' | 'startedAt'>,
  path: string,
  { rules }: BrowserCookies,
  { host, landings }: RouteDeps,
  res: Response,
): void {
  const landing = landings.remember(state, session, path, rules)
  // With a long path and a large session cookie, the landing does not fit into the response. A repeated answer then
  // fails like an unknown one.
  if (landing.length <= remainingCookieBytes(res, host.sessions, path)) res.append('Set-Cookie', landing)
}

/**
 * Returns where the login of a repeated answer led. Returns undefined unless the browser still has the session that
 * this login started.
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
