import type { Request, Response } from 'express'
import { isLate } from '../../clock.ts'
import { LoginError } from '../../errors.ts'
import { logFailure } from '../../host/auth-log.ts'
import type { Logout } from '../../provider/logout/logout-token.ts'
import { othersOf } from '../../sessions/other-sessions.ts'
import type { RouteDeps, Strategy } from '../strategy.ts'

/** Keycloak waits for 5 s, and does not come again. */
const ANSWER_MS = 4_000

/**
 * `POST auth-oidc-backchannel-logout`: the IdP itself says that it ended a session, or all those of a person, and they
 * end here. Source: OpenID Connect Back-Channel Logout 1.0, sections 2.5 to 2.8.
 */
export async function backchannelLogout(
  strategy: Strategy,
  deps: RouteDeps,
  req: Request,
  res: Response,
): Promise<void> {
  const { domainKey, working } = strategy
  const { host, clock } = deps
  const begun = clock.elapsed()
  try {
    if (!working) throw new LoginError('not_configured')
    const { those, sessions, others } = await working.logoutTokens.redeem(tokenOf(req), async (logout: Logout) => {
      const { issuer, subject, sid } = logout
      const those = { domainKey, issuer, subject, sid }
      try {
        const others = await othersOf(host.sessions, req, those)
        return { those, others, sessions: await host.sessions.endMatching(req, those) }
      } catch (cause) {
        throw new LoginError('host_failed', { cause })
      }
    })
    const { subject, sid } = those
    host.authLog({
      level: 'info',
      event: 'backchannel-logout',
      message: sid === null ? 'The IdP ended all sessions of a user.' : 'The IdP ended a session.',
      domain: domainKey,
      fields: {
        ...(subject === null ? {} : { subject: subject }),
        ...(sessions === null ? {} : { sessions }),
      },
    })
    // What has not come about by then goes on by itself.
    await isLate(clock, working.checks.askAbout(others), ANSWER_MS - (clock.elapsed() - begun))
    res.status(200).end()
  } catch (error) {
    refuseLogout(strategy, deps, req, res, error)
  }
}

/**
 * The protocol has one status for whatever went wrong. The words are ours: which check refused is for the log, since
 * anybody can ask.
 */
export function refuseLogout(
  { domainKey }: Strategy,
  { host }: RouteDeps,
  req: Request,
  res: Response,
  error: unknown,
): void {
  const failure = isOfTheForm(error)
    ? new LoginError('logout_token_invalid', { details: { reason: 'the request is no form of 16 KB at most' } })
    : error instanceof LoginError
      ? error
      : new LoginError('internal', { cause: error })
  logFailure(host, req, domainKey, 'backchannel-logout-refused', failure)
  const invalid = failure.code === 'logout_token_invalid'
  res
    .status(400)
    .json(
      invalid
        ? { error: 'invalid_request', error_description: 'The logout token was not accepted.' }
        : { error: 'server_error', error_description: 'The logout could not be carried out. Please try again.' },
    )
}

function tokenOf(req: Request): string {
  const body: unknown = req.is('application/x-www-form-urlencoded') ? req.body : undefined
  const token: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'logout_token') : undefined
  if (typeof token === 'string' && token !== '') return token
  throw new LoginError('logout_token_invalid', { details: { reason: 'the request has no logout_token' } })
}

/** The parser marks what the sender did wrong, such as a body that is too large, with a status below 500. */
function isOfTheForm(error: unknown): boolean {
  const status: unknown = error instanceof Error && 'status' in error ? error.status : undefined
  return typeof status === 'number' && status >= 400 && status < 500
}
