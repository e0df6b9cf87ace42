import type { Request, Response } from 'express'
import type { Clock } from '../../clock.ts'
import { LoginError } from '../../errors.ts'
import { logFailure } from '../../host/auth-log.ts'
import type { Sessions, SignIn } from '../../host/port.ts'
import { gotNoAnswer } from '../../provider/faults/unanswered.ts'
import { showMessage } from '../login/failure.ts'
import type { RouteDeps, Strategy, WorkingStrategy } from '../strategy.ts'
import { sendLogoutForm } from './logout-form.ts'
import { type Revocation, revokeTokens } from './revoke-tokens.ts'

/**
 * `GET` and `POST logout`: ends the session here whatever happens, then at the IdP (OpenID Connect RP-Initiated Logout
 * 1.0), whose page sends the browser back. Tokens of the session are revoked where the IdP can.
 */
export async function logout(
  strategy: Strategy,
  { host, clock }: RouteDeps,
  req: Request,
  res: Response,
): Promise<void> {
  const { domainKey, working } = strategy
  const { login } = strategy.paths
  const report = (event: 'logout-failed' | 'logout-incomplete', error: unknown) => {
    const failure = error instanceof LoginError ? error : new LoginError('internal', { cause: error })
    logFailure(host, req, domainKey, event, failure)
    return failure
  }

  const session = await sessionOf(host.sessions, req, (error) =>
    report('logout-incomplete', new LoginError('host_failed', { cause: error })),
  )
  try {
    await host.sessions.end(req, res)
  } catch (error) {
    report('logout-failed', new LoginError('host_failed', { cause: error }))
    res.status(500).type('text/plain').send('Signing out did not work. Close the browser to be safe, and try again.')
    return
  }
  if (!session || !working) {
    res.redirect(302, login)
    return
  }
  // What one IdP gave is nothing that another one's domain may hand on.
  const own = session.domainKey === domainKey ? session : null
  const [next, { failure, isAway }] = await Promise.all([
    working.endSession.next(own).catch((error: unknown) => ({ kind: 'unknown', error }) as const),
    own ? revoke(own, working, clock) : NOTHING_TO_REVOKE,
  ])
  // A discovery that failed fails both.
  const failures = new Set([...(next.kind === 'unknown' ? [next.error] : []), ...(failure ? [failure] : [])])
  const [first] = [...failures].map((error) => report('logout-incomplete', error))
  if (first && (isAway || next.kind === 'unknown')) {
    // Signed out here; the person reads that, and not what a browser says of an address where nobody answers.
    await showMessage(host, req, res, domainKey, 'signed_out_here', first.code)
  } else if (next.kind === 'form') sendLogoutForm(res, next.url, next.fields)
  else res.redirect(302, next.kind === 'redirect' ? next.url.href : login)
}

/** With what is kept of it elsewhere, which it ends without when that cannot be read. */
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
  const kept = session && (await sessions.kept?.(req).catch(failed))
  return kept ? { ...session, tokens: kept.tokens, idToken: session.idToken ?? kept.idToken } : session
}

const NOTHING_TO_REVOKE: Revocation = { failure: undefined, isAway: false }

async function revoke({ tokens }: SignIn, { client, endSession }: WorkingStrategy, clock: Clock): Promise<Revocation> {
  if (!tokens) return NOTHING_TO_REVOKE
  try {
    return await revokeTokens(client, tokens, await endSession.endsAtIdp(), clock)
  } catch (failure) {
    return { failure, isAway: gotNoAnswer(failure) }
  }
}
