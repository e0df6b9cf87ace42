import type { Request } from 'express'
import type { OpenSession, SessionFilter, Sessions } from '../host/port.ts'

/**
 * Returns a user's other sessions after the IdP ended one of them, so that they can be checked. Some IdPs end several
 * sessions but send a logout token for only one. For example, Keycloak does so when an administrator ends all sessions
 * of a user.
 *
 * Call this before the session ends on this server. If the IdP does not name the user, only that session identifies the
 * user. The result does not include the sessions that end, because their stored data may be partly removed.
 */
export async function otherSessions(
  sessions: Sessions,
  req: Request,
  { domainKey, issuer, subject: namedSubject, sid }: Omit<SessionFilter, 'account'>,
): Promise<readonly OpenSession[]> {
  if (!sessions.matching) return []
  const ending = await sessions.matching(req, { domainKey, issuer, subject: namedSubject, sid })
  const subjects = namedSubject === null ? ending.map(({ signIn }) => signIn.subject) : [namedSubject]
  const ofSubjects = [...new Set(subjects)].map(async (subject) =>
    sessions.matching?.(req, { domainKey, issuer, subject, sid: null }),
  )
  const endingIds = new Set(ending.map(({ id }) => id))
  return (await Promise.all(ofSubjects)).flatMap((matching = []) => matching.filter(({ id }) => !endingIds.has(id)))
}
