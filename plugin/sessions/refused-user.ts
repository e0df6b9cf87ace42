import type { Request } from 'express'
import { LoginError } from '../errors.ts'
import { logFailure } from '../host/auth-log.ts'
import type { Host, SignIn } from '../host/port.ts'

/**
 * Somebody who has an account, and may not come in any more, does not stay in elsewhere: ends all sessions of that person. Never
 * rejects; a failure has its own line in the authentication log. A login that is not verified must not lead here, or anybody could sign
 * anybody out.
 */
export async function endSessionsOfRefused(
  host: Host,
  req: Request,
  { domainKey, userId, issuer, subject }: Pick<SignIn, 'domainKey' | 'userId' | 'issuer' | 'subject'>,
): Promise<void> {
  try {
    if (!(await host.accounts.find(domainKey, userId))) return
    const sessions = await host.sessions.endMatching(req, { domainKey, issuer, subject, sid: null })
    if (sessions === 0) return
    host.authLog({
      level: 'info',
      event: 'refused-user-signed-out',
      message: 'A user with an account is in none of groups.required any more: all sessions of this user have ended.',
      domain: domainKey,
      fields: { user: userId, ...(sessions === null ? {} : { sessions }) },
    })
  } catch (cause) {
    const failure = new LoginError('host_failed', { cause, details: { user: userId } })
    logFailure(host, req, domainKey, 'refused-user-not-signed-out', failure)
  }
}
