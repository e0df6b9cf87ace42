import type { Request } from 'express'
import { LoginError } from '../errors.ts'
import { logFailure } from '../host/auth-log.ts'
import type { Host, UserId } from '../host/port.ts'

/** Whom a login was for, in the words of the ID token that was verified for it. */
export interface RefusedUser {
  readonly domainKey: string
  readonly userId: UserId
  readonly issuer: string
  readonly subject: string
}

/**
 * Somebody who has an account, and may not come in any more, does not stay in elsewhere: ends all sessions of that person. Never
 * rejects; a failure has its own line in the authentication log. A login that is not verified must not lead here, or anybody could sign
 * anybody out.
 */
export async function endSessionsOfRefused(host: Host, req: Request, refused: RefusedUser): Promise<void> {
  const { domainKey, userId, issuer, subject } = refused
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
