import type { Request } from 'express'
import type { EndedSessions, OpenSession, Sessions } from '../host/port.ts'

/**
 * Whose other sessions the IdP is to be asked about, now that it has ended one: some send one token for one of several sessions that they
 * ended (Keycloak, when an administrator ends all). Called while that one is still there: it alone tells, where the IdP does not. Never
 * rejects: a store that fails, fails the logout itself as well, which tells of it.
 *
 * @returns subjects
 */
export async function subjectsOf(sessions: Sessions, req: Request, ended: EndedSessions): Promise<readonly string[]> {
  if (ended.sid === null || !sessions.matching) return []
  if (ended.subject !== null) return [ended.subject]
  const found = await sessions.matching(req, ended).catch(() => [])
  return [...new Set(found.map(({ signIn }) => signIn.subject))]
}

/** What is left of them. A rejection means that nobody knows. */
export async function sessionsOf(
  subjects: readonly string[],
  sessions: Sessions,
  req: Request,
  { domainKey, issuer }: EndedSessions,
): Promise<readonly OpenSession[]> {
  const those = subjects.map((subject) => ({ domainKey, issuer, subject, sid: null }))
  return (await Promise.all(those.map(async (of) => (await sessions.matching?.(req, of)) ?? []))).flat()
}
