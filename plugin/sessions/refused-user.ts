import type { Request } from 'express'
import type { DomainSettings } from '../config/settings.ts'
import { LoginError } from '../errors.ts'
import { logFailure } from '../host/auth-log.ts'
import type { Host, UserId } from '../host/port.ts'
import { revokeGroupGrants } from '../login/groups/apply-groups.ts'

/** A user who is in none of the groups in `groups.required`. */
export interface RefusedUser {
  readonly settings: Pick<DomainSettings, 'key' | 'groups'>
  readonly userId: UserId
  /** The HTTP request of the login. Null after a renewal. */
  readonly req: Request | null
  /** Ends the user's sessions. Resolves to the number of sessions that ended, or to null if it is unknown. */
  readonly endSessions: () => Promise<number | null>
}

type RefusingHost = Pick<Host, 'accounts' | 'groups' | 'loginTokens' | 'authLog' | 'clientAddress'>

/**
 * Locks out a user who is in none of the groups in `groups.required`: ends the sessions, suspends the login tokens, and
 * revokes what group rules gave. Never rejects, but logs failures.
 *
 * Call it only if the login was verified and the memberships are known. Otherwise a stranger could lock users out.
 */
export async function lockOutRefusedUser(host: RefusingHost, user: RefusedUser): Promise<void> {
  const { settings, userId, req } = user
  const notSignedOut = (cause: unknown) =>
    logFailure(host, req, settings.key, 'refused-user-not-signed-out', failure(userId, cause))
  const rightsKept = (cause: unknown) =>
    logFailure(host, req, settings.key, 'refused-user-rights-kept', failure(userId, cause))
  try {
    const account = await host.accounts.find(settings.key, userId)
    if (!account) return
    await Promise.all([
      signOut(host, user).catch(notSignedOut),
      host.loginTokens?.suspend(settings.key, userId).catch(notSignedOut),
      // Keep the rights of a locked account: a lock by an administrator takes precedence over group rules.
      account.locked || revoke(host, user).catch(rightsKept),
    ])
  } catch (cause) {
    notSignedOut(cause)
  }
}

function failure(user: UserId, cause: unknown): LoginError {
  return new LoginError('host_failed', { cause, details: { user } })
}

async function signOut(host: RefusingHost, { settings, userId, endSessions }: RefusedUser): Promise<void> {
  const sessions = await endSessions()
  if (sessions === 0) return
  host.authLog({
    level: 'info',
    event: 'refused-user-signed-out',
    message:
      'A user with an account is no longer in any group of `groups.required`. All sessions of this user were ended.',
    domain: settings.key,
    fields: { user: userId, ...(sessions === null ? {} : { sessions }) },
  })
}

async function revoke(host: RefusingHost, { settings, userId }: RefusedUser): Promise<void> {
  const { siteAdmin, rights, left } = await revokeGroupGrants(userId, settings, host)
  if (siteAdmin === 'keep' && rights === undefined && left.length === 0) return
  host.authLog({
    level: 'info',
    event: 'refused-user-rights-revoked',
    message:
      'A user with an account is no longer in any group of `groups.required`. The plugin revoked what group rules had given the account: see `siteAdmin`, `rights` (those that remain) and `left`.',
    domain: settings.key,
    fields: {
      user: userId,
      ...(siteAdmin === 'keep' ? {} : { siteAdmin }),
      ...(rights === undefined ? {} : { rights }),
      ...(left.length > 0 ? { left } : {}),
    },
  })
}
