import type { Request, Response } from 'express'
import type { Clock } from '../../clock.ts'
import { LoginError } from '../../errors.ts'
import { logFailure } from '../../host/auth-log.ts'
import type { Host, Sessions, SignIn } from '../../host/port.ts'
import { gotNoAnswer } from '../../provider/faults/unanswered.ts'
import { showMessage } from '../login/failure.ts'
import type { RouteDeps, Strategy, WorkingStrategy } from '../strategy.ts'
import { sendLogoutForm } from './logout-form.ts'
import { type Revocation, revokeTokens } from './revoke-tokens.ts'

/**
 * `GET` and `POST logout`: ends the session here, revokes its tokens, and redirects to the IdP's logout page (OpenID
 * Connect RP-Initiated Logout 1.0).
 */
export async function logout(strategy: Strategy, deps: RouteDeps, req: Request, res: Response): Promise<void> {
  const { host } = deps
  const { domainKey, working, paths } = strategy
  const report: Report = (event, error) => {
    const failure = error instanceof LoginError ? error : new LoginError('internal', { cause: error })
    logFailure(host, req, domainKey, event, failure)
    return failure
  }
  const session = await sessionOf(host.sessions, req, (cause) =>
    report('logout-incomplete', new LoginError('host_failed', { cause })),
  )
  if (!(await endHere(host, req, res, report))) return
  if (session && working) await endAtIdp(session, working, strategy, deps, req, res, report)
  else res.redirect(302, paths.login)
}

/** Logs a failed step of a logout and returns its error. */
type Report = (event: 'logout-failed' | 'logout-incomplete', error: unknown) => LoginError

/**
 * Ends the session on this server.
 *
 * @returns false if that failed. An error response was then sent
 */
async function endHere({ sessions }: Host, req: Request, res: Response, report: Report): Promise<boolean> {
  try {
    await sessions.end(req, res)
    return true
  } catch (cause) {
    report('logout-failed', new LoginError('host_failed', { cause }))
    res.status(500).type('text/plain').send('Signing out did not work. Close the browser to be safe, and try again.')
    return false
  }
}

async function endAtIdp(
  session: SignIn,
  working: WorkingStrategy,
  { domainKey, paths }: Strategy,
  { host, clock }: RouteDeps,
  req: Request,
  res: Response,
  report: Report,
): Promise<void> {
  // Never send the tokens of one domain's IdP to the IdP of another domain.
  const ownSession = session.domainKey === domainKey ? session : null
  const [next, { failure, isUnreachable }] = await Promise.all([
    working.endSession.next(ownSession).catch((error: unknown) => ({ kind: 'unknown', error }) as const),
    ownSession ? revoke(ownSession, working, clock) : NOTHING_TO_REVOKE,
  ])
  // If discovery fails, the logout at the IdP and the revocation fail with the same error. A `Set` removes the
  // duplicate, so that the error is logged once.
  const failures = new Set([...(next.kind === 'unknown' ? [next.error] : []), ...(failure ? [failure] : [])])
  const [firstFailure] = [...failures].map((error) => report('logout-incomplete', error))
  if (firstFailure && (isUnreachable || next.kind === 'unknown')) {
    // If the IdP is unreachable, show a message, because the user would not understand the browser's error page.
    await showMessage(host, req, res, domainKey, 'signed_out_here', firstFailure.code)
  } else if (next.kind === 'form') sendLogoutForm(res, next.url, next.fields)
  else res.redirect(302, next.kind === 'redirect' ? next.url.href : paths.login)
}

/**
 * Returns the browser's session, including tokens that the host stores elsewhere. If these tokens cannot be read,
 * returns the session without them.
 */
async function sessionOf(
  sessions: Sessions,
  req: Request,
  onFailure: (error: unknown) => void,
): Promise<SignIn | undefined> {
  const failed = (error: unknown) => {
    onFailure(error)
    return undefined
  }
  const session = await sessions.current(req).catch(failed)
  const stored = session && (await sessions.kept?.(req).catch(failed))
  return stored ? { ...session, tokens: stored.tokens, idToken: session.idToken ?? stored.idToken } : session
}

const NOTHING_TO_REVOKE: Revocation = { failure: undefined, isUnreachable: false }

async function revoke({ tokens }: SignIn, { client, endSession }: WorkingStrategy, clock: Clock): Promise<Revocation> {
  if (!tokens) return NOTHING_TO_REVOKE
  try {
    return await revokeTokens(client, tokens, await endSession.endsAtIdp(), clock)
  } catch (failure) {
    return { failure, isUnreachable: gotNoAnswer(failure) }
  }
}
