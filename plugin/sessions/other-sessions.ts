import type { Request } from 'express'
import { LoginError } from '../errors.ts'
import { logFailure } from '../host/auth-log.ts'
import type { EndedSessions, Host } from '../host/port.ts'
import type { ProviderClient } from '../provider/client.ts'
import type { AskAboutToken } from './introspection.ts'
import type { Reviewed, SessionReview } from './session-review.ts'

/**
 * Whose other sessions the IdP is to be asked about, now that it has ended one. Called while that one is still there: it alone tells,
 * where the IdP does not. Never rejects.
 *
 * @returns subjects; none where nobody can be asked
 */
export async function subjectsOf(
  client: Pick<ProviderClient, 'introspects'>,
  { sessions }: Pick<Host, 'sessions'>,
  req: Request,
  ended: EndedSessions,
): Promise<readonly string[]> {
  try {
    if (ended.sid === null || !sessions.matching || !(await client.introspects())) return []
    if (ended.subject !== null) return [ended.subject]
    const found = await sessions.matching(req, ended)
    return [...new Set(found.map(({ signIn }) => signIn.subject))]
  } catch {
    // A store that fails, fails the logout itself as well, which tells of it.
    return []
  }
}

/**
 * Asks the IdP about what is left of them: some send one token for one of several sessions that they ended (Keycloak, when an
 * administrator ends all). Some call them active until their token was answered, so they are asked about again after that. Never rejects.
 *
 * @returns what is to be done when the token was answered
 */
export async function reviewOthers(
  subjects: readonly string[],
  client: Pick<ProviderClient, 'introspect'>,
  { host, review }: { readonly host: Host; readonly review: SessionReview },
  req: Request,
  { domainKey, issuer }: EndedSessions,
): Promise<() => void> {
  const ask: AskAboutToken = (token, kind) => client.introspect(token, kind)

  function tell(subject: string, { ended, notAsked, failure }: Omit<Reviewed, 'active' | 'failed'>): void {
    if (failure !== undefined) {
      const told = failure instanceof LoginError ? failure : new LoginError('host_failed', { cause: failure })
      logFailure(host, req, domainKey, 'introspection-failed', told)
    }
    if (ended === 0 && notAsked.length === 0) return
    host.authLog({
      level: notAsked.length > 0 ? 'warn' : 'info',
      event: 'other-sessions-ended',
      message: 'The IdP was asked about the other sessions of a user: those that it had ended are over.',
      domain: domainKey,
      fields: { subject, sessions: ended, ...(notAsked.length > 0 ? { notAsked: notAsked.length } : {}) },
    })
  }

  async function reviewOf(subject: string): Promise<() => void> {
    try {
      const those = { domainKey, issuer, subject, sid: null }
      const reviewed = await review.review((await host.sessions.matching?.(req, those)) ?? [], ask)
      tell(subject, reviewed)
      return () => review.reviewLater(reviewed.active, ask, (again) => tell(subject, again))
    } catch (error) {
      tell(subject, { ended: 0, notAsked: [], failure: error })
      return () => undefined
    }
  }

  const later = await Promise.all(subjects.map(reviewOf))
  return () => {
    for (const begin of later) begin()
  }
}
