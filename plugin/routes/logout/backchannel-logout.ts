import type { Request, Response } from 'express'
import { isLate } from '../../clock.ts'
import { membersOf } from '../../config/json/json-object.ts'
import { LoginError } from '../../errors.ts'
import { logFailure } from '../../host/auth-log.ts'
import type { AuthLogEntry, Host, UserId } from '../../host/port.ts'
import type { Logout } from '../../provider/logout/logout-token.ts'
import { type SessionsAtLogout, sessionsAtLogout } from '../../sessions/sessions-at-logout.ts'
import type { RouteDeps, Strategy } from '../strategy.ts'

/**
 * Time limit for the response to a logout token, in milliseconds. Keycloak waits 5 s for the response, and does not
 * send the token again.
 */
const RESPONSE_MS = 4_000

/**
 * `POST auth-oidc-backchannel-logout`: ends sessions that ended at the IdP. Source: OpenID Connect Back-Channel Logout
 * 1.0, sections 2.5 to 2.8.
 */
export async function backchannelLogout(
  strategy: Strategy,
  deps: RouteDeps,
  req: Request,
  res: Response,
): Promise<void> {
  const { domainKey, working } = strategy
  const { host, clock } = deps
  const beganAt = clock.elapsed()
  try {
    if (!working) throw new LoginError('not_configured')
    const ended = await working.logoutTokens.redeem(tokenOf(req), (logout) => endSessions(host, domainKey, req, logout))
    host.authLog(logEntry(domainKey, ended, working.settings.custom.claims.uuid))
    // Wait for the session checks only until the response to the IdP is due. Slower checks continue after it.
    await isLate(clock, working.checks.checkNow(ended.others), RESPONSE_MS - (clock.elapsed() - beganAt))
    res.status(200).end()
  } catch (error) {
    refuseLogout(strategy, deps, req, res, error)
  }
}

interface EndedByIdp extends SessionsAtLogout, Pick<Logout, 'subject' | 'sid'> {
  /** The number of sessions that ended, or null if it is unknown. */
  readonly sessions: number | null
}

/**
 * Ends the sessions that a logout token names.
 *
 * @throws LoginError `host_failed`
 */
async function endSessions(
  { sessions }: Host,
  domainKey: string,
  req: Request,
  { issuer, subject, sid }: Logout,
): Promise<EndedByIdp> {
  const filter = { domainKey, issuer, subject, sid }
  try {
    const open = await sessionsAtLogout(sessions, req, filter)
    return { subject, sid, ...open, sessions: await sessions.endMatching(req, filter) }
  } catch (cause) {
    throw new LoginError('host_failed', { cause })
  }
}

/** @param uuidClaim the claim that contains the ids of the domain's accounts */
function logEntry(domain: string, ended: EndedByIdp, uuidClaim: string): AuthLogEntry {
  const { subject, sid, sessions } = ended
  const user = userOf(ended, uuidClaim)
  const outcome = sid === null ? 'The IdP ended all sessions of a user.' : 'The IdP ended a session.'
  return {
    level: 'info',
    event: 'backchannel-logout',
    message: `${outcome}${noSessionLeft(ended)}`,
    domain,
    fields: {
      ...(user === undefined ? {} : { user }),
      ...(subject === null ? {} : { subject }),
      ...(sessions === null ? {} : { sessions }),
    },
  }
}

/**
 * Returns a sentence for the log if no session was left to end. Some IdPs, such as Keycloak, send a logout token after
 * each sign-out, also after one that began on this server. If the number of ended sessions is unknown, a session
 * without a recent request may have ended.
 */
function noSessionLeft({ sessions, ending }: EndedByIdp): string {
  const isNoneLeft = sessions === 0
  if (!isNoneLeft && !(sessions === null && ending?.length === 0)) return ''
  return ` No such session was ${isNoneLeft ? 'left' : 'in use'} on this server, for example because the user had already signed out here.`
}

/**
 * Returns the account of a logout token. The account is known if one of the user's sessions was open, or if the token's
 * subject is the account's id.
 */
function userOf({ subject, ending, others }: EndedByIdp, uuidClaim: string): UserId | undefined {
  const [user, ...more] = new Set([...(ending ?? []), ...others].map(({ signIn }) => signIn.userId))
  if (user !== undefined) return more.length === 0 ? user : undefined
  return subject !== null && uuidClaim === 'sub' ? `~oidc:${subject}` : undefined
}

/** Answers a refused logout token. Only the log names the failed check, because a stranger can send tokens. */
export function refuseLogout(
  { domainKey }: Strategy,
  { host }: RouteDeps,
  req: Request,
  res: Response,
  error: unknown,
): void {
  const failure = isSenderFault(error)
    ? new LoginError('logout_token_invalid', { details: { reason: 'the request is not a form of at most 16 KB' } })
    : error instanceof LoginError
      ? error
      : new LoginError('internal', { cause: error })
  logFailure(host, req, domainKey, 'backchannel-logout-refused', failure)
  const isInvalid = failure.code === 'logout_token_invalid'
  res
    .status(400)
    .json(
      isInvalid
        ? { error: 'invalid_request', error_description: 'The logout token was not accepted.' }
        : { error: 'server_error', error_description: 'The logout could not be carried out. Please try again.' },
    )
}

function tokenOf(req: Request): string {
  const { logout_token: token } = membersOf(req.is('application/x-www-form-urlencoded') ? req.body : undefined)
  if (typeof token === 'string' && token !== '') return token
  throw new LoginError('logout_token_invalid', { details: { reason: 'the request has no logout_token' } })
}

/**
 * Whether the sender caused the error. The body parser marks such errors with a 4xx status, for example for a body that
 * is too large.
 */
function isSenderFault(error: unknown): boolean {
  const status: unknown = error instanceof Error && 'status' in error ? error.status : undefined
  return typeof status === 'number' && status >= 400 && status < 500
}
