import type { Request } from 'express'
import type { OpenSession, SessionFilter, Sessions } from '../host/port.ts'

/**
 * The sessions that the IdP is to be asked about once it has ended one: some send one token for one of several sessions
 * that they ended (Keycloak, when an administrator ends all). Called while that one is still there: it alone tells
 * whose it is, where the IdP does not. Those that end are not among them: what is kept of them may still be going.
 */
export async function othersOf(
  sessions: Sessions,
  req: Request,
  ended: SessionFilter,
): Promise<readonly OpenSession[]> {
  if (!sessions.matching) return []
  const over = await sessions.matching(req, ended)
  const subjects = ended.subject === null ? over.map(({ signIn }) => signIn.subject) : [ended.subject]
  const all = [...new Set(subjects)].map(async (subject) => sessions.matching?.(req, { ...ended, subject, sid: null }))
  const ids = new Set(over.map(({ id }) => id))
  return (await Promise.all(all)).flatMap((those = []) => those.filter(({ id }) => !ids.has(id)))
}
