import type { Request, Response } from 'express'
import { LoginError } from '../../errors.ts'
import { isAnotherAccountRequested } from '../../login/another-account.ts'
import { readCookies } from '../../login/transaction/login-cookie.ts'
import { remainingCookieBytes } from '../cookie-budget.ts'
import { cookieRules } from '../cookie-rules.ts'
import { sendRedirect } from '../send-redirect.ts'
import type { RouteDeps, Strategy } from '../strategy.ts'
import { endInFailure } from './failure.ts'
import { readInitiation } from './initiation.ts'

/** `GET` and `POST auth-oidc`: begins a login and redirects the browser to the IdP. */
export async function authorize(strategy: Strategy, deps: RouteDeps, req: Request, res: Response): Promise<void> {
  const { domainKey, paths, working } = strategy
  try {
    if (!working) throw new LoginError('not_configured')
    const { returnPath, hints } = await readInitiation(req, working, paths)
    const rules = cookieRules(working.settings)
    const cookies = readCookies(req.headers.cookie)
    const begun = deps.transactions.begin({ domainKey, returnPath }, rules, cookies)
    const anotherAccount = isAnotherAccountRequested({ cookies, rules })
    const url = await working.client.authorizationUrl(begun.transaction, { parameters: hints, anotherAccount })
    res.append('Set-Cookie', [...begun.setCookies(remainingCookieBytes(res, deps.host.sessions, url.href))])
    sendRedirect(res, url.href)
  } catch (error) {
    await endInFailure(deps.host, req, res, domainKey, error)
  }
}
