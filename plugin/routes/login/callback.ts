import type { Request, Response } from 'express'
import { LoginError } from '../../errors.ts'
import type { Host } from '../../host/port.ts'
import {
  cancelAnotherAccount,
  couldAnotherAccountHelp,
  isAnotherAccountRequested,
  requestAnotherAccount,
} from '../../login/another-account.ts'
import { readCookies } from '../../login/transaction/login-cookie.ts'
import { mayComeInFragment } from '../../provider/authorization/response-mode.ts'
import { answerOf, isAnswer, isPrefetch } from '../answer.ts'
import { cookieRules } from '../cookie-rules.ts'
import { sendRedirect } from '../send-redirect.ts'
import type { RouteDeps, Strategy } from '../strategy.ts'
import { endInFailure } from './failure.ts'
import { finishLogin } from './finish-login.ts'
import { sendFragmentPage } from './fragment-page.ts'
import { logSignIn } from './log-sign-in.ts'
import { earlierLanding, rememberLanding } from './repeated-answer.ts'
import { takeTransaction } from './take-transaction.ts'

/**
 * Whether {@link callback} handles this request to the redirect path: if it has an answer, or may have one in its
 * fragment, which servers do not receive.
 */
export function isForCallback({ domainKey, working }: Strategy, { transactions }: RouteDeps, req: Request): boolean {
  if (isAnswer(answerOf(req))) return true
  if (req.method !== 'GET' || !working || !mayComeInFragment(working.settings.client)) return false
  return transactions.isUnderWay(domainKey, cookieRules(working.settings), readCookies(req.headers.cookie))
}

/** Receives the IdP's answer, by GET or as a posted form, and finishes the login that it belongs to. */
export async function callback(strategy: Strategy, deps: RouteDeps, req: Request, res: Response): Promise<void> {
  const { host } = deps
  const { domainKey, paths, working } = strategy
  if (isPrefetch(req)) {
    res.status(503).end()
    return
  }
  const parameters = answerOf(req)
  if (!isAnswer(parameters)) return sendFragmentPage(res, paths.login)
  let isOwnLogin = false
  try {
    if (!working) throw new LoginError('not_configured')
    const browser = { cookies: readCookies(req.headers.cookie), rules: cookieRules(working.settings) }
    const answer = await working.client.openAnswer(parameters)
    const { state } = answer
    if (state === undefined) throw new LoginError('transaction_missing')
    const transaction = await takeTransaction(state, browser, deps, res)
    if (!transaction) {
      const earlier = await earlierLanding(state, browser, deps, req)
      if (earlier === undefined) throw new LoginError('transaction_missing')
      land(host, req, res, earlier)
      return
    }
    isOwnLogin = true
    if (transaction.domainKey !== domainKey) throw new LoginError('transaction_foreign')
    const { profile, result, startedAt } = await finishLogin(answer, transaction, working, deps, req, res)
    logSignIn(host, req, domainKey, profile, result)
    if (isAnotherAccountRequested(browser)) res.append('Set-Cookie', cancelAnotherAccount(browser.rules))
    const path = transaction.returnPath ?? paths.base
    rememberLanding(state, { domainKey, userId: profile.id, startedAt }, path, browser, deps, res)
    land(host, req, res, path)
  } catch (error) {
    // End an earlier session, so that a refused user does not stay signed in. But any page could send an answer that no
    // login here requested.
    if (isOwnLogin) await host.sessions.end(req, res).catch(() => undefined)
    if (working && error instanceof LoginError && couldAnotherAccountHelp(error.code)) {
      res.append('Set-Cookie', requestAnotherAccount(cookieRules(working.settings)))
    }
    await endInFailure(host, req, res, domainKey, error)
  }
}

/** Refuses a posted answer that is too large or has too many fields, and shows the login page. */
export async function refuseAnswer(
  { domainKey }: Strategy,
  { host }: RouteDeps,
  req: Request,
  res: Response,
  cause: unknown,
) {
  const reason = 'the posted form has over 256 KB or 50 fields, or is no form'
  await endInFailure(host, req, res, domainKey, new LoginError('answer_invalid', { cause, details: { reason } }))
}

function land(host: Host, req: Request, res: Response, path: string): void {
  if (host.land) host.land(req, res, path)
  else sendRedirect(res, path)
}
