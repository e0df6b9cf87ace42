import type { Request, Response } from 'express'
import type { SignIn } from '../../host/port.ts'
import type { BrowserCookies } from '../../login/transaction/login-cookie.ts'
import { remainingCookieBytes } from '../cookie-budget.ts'
import type { RouteDeps } from '../strategy.ts'

/** Remembers in the browser where its login led, in case the answer comes again by a reload or the back button. */
export function rememberLanding(
  state: string,
  session: Pick<SignIn, 'domainKey' | 'userId' | 'startedAt'>,
  path: string,
  { rules }: BrowserCookies,
  { host, landings }: RouteDeps,
  res: Response,
): void {
  const landing = landings.remember(state, session, path, rules)
  // A long path beside a large session cookie leaves no space. A repeated answer then fails like an unknown one.
  if (landing.length <= remainingCookieBytes(res, host.sessions, path)) res.append('Set-Cookie', landing)
}

/** Returns where the login of a repeated answer led, if the browser's session is still the one that it began. */
export async function earlierLanding(
  state: string,
  { cookies, rules }: BrowserCookies,
  { host, landings }: RouteDeps,
  req: Request,
): Promise<string | undefined> {
  const session = await host.sessions.current(req).catch(() => undefined)
  return landings.find(state, session, rules, cookies)
}
