import type { Request } from 'express'
import type { OpenSession, SessionFilter, Sessions } from '../host/port.ts'

/** A user's open sessions when the IdP ends one or all of the user's sessions. */
export interface SessionsAtLogout {
  /** The sessions that end. Null if the host cannot list its sessions. */
  readonly ending: readonly OpenSession[] | null
  /** The user's other sessions, which may have ended at the IdP too. */
  readonly others: readonly OpenSession[]
}

/**
 * Returns a user's open sessions when the IdP ends one or all of them, to check those that do not end. When an
 * administrator ends all sessions of a user, Keycloak sends a logout token for only one.
 *
 * Call this before the session ends here, because only that session may identify the user. Do not read the tokens of
 * the sessions that end, because they may be partly removed.
 */
export async function sessionsAtLogout(
  sessions: Sessions,
  req: Request,
  { domainKey, issuer, subject: namedSubject, sid }: Omit<SessionFilter, 'account'>,
): Promise<SessionsAtLogout> {
  if (!sessions.matching) return { ending: null, others: [] }
  const ending = await sessions.matching(req, { domainKey, issuer, subject: namedSubject, sid })
  const subjects = namedSubject === null ? ending.map(({ signIn }) => signIn.subject) : [namedSubject]
  const ofSubjects = [...new Set(subjects)].map(async (subject) =>
    sessions.matching?.(req, { domainKey, issuer, subject, sid: null }),
  )
  const endingIds = new Set(ending.map(({ id }) => id))
  const others = (await Promise.all(ofSubjects)).flatMap((matching = []) =>
    matching.filter(({ id }) => !endingIds.has(id)),
  )
  return { ending, others }
}
