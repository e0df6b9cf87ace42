import { LoginError } from '../errors.ts'
import type { OpenSession, Sessions, Tokens } from '../host/port.ts'
import type { ProviderClient } from '../provider/client.ts'
import type { Renewed } from '../provider/tokens/renewal.ts'
import { introspectTokens } from './introspection.ts'

/** The outcome of checking a session. `active`: the session is still alive at the IdP. */
export type CheckOutcome =
  | 'active'
  /** The session was not checked this time, for example because another process checks it. */
  | 'unknown'
  /** The session can never be checked: it has no refresh token, and its access token cannot be introspected. */
  | 'unchecked'
  /** The IdP renewed the session, but group rules no longer admit its user. */
  | 'refused'
  /** The session ended at the IdP. `reason` is null if the IdP reported the access token as inactive. */
  | { readonly reason: LoginError | null }

export interface CheckDeps {
  readonly client: Pick<ProviderClient, 'introspect' | 'renew'>
  readonly lease: Sessions['lease']
  /**
   * Time after a session's renewal by any process, in milliseconds. During this time, the session is not checked again.
   */
  readonly freshMs: number
  /** Returns the current time in milliseconds since 1970. */
  readonly now: () => number
  /** Whether this process is about to stop. It then renews no tokens, because it could lose the IdP's answer. */
  readonly isClosing: () => boolean
  /** Registers a token renewal that the process must finish before it stops. */
  readonly untilClosed: <Outcome>(renewal: Promise<Outcome>) => Promise<Outcome>
  /**
   * Applies the groups of a renewed ID token, after the new tokens were stored. Returns false if the groups no longer
   * admit the user. Never rejects.
   */
  readonly followGroups: (session: OpenSession, renewed: Renewed) => Promise<boolean>
}

/**
 * Renews a session (RFC 6749, section 6), or introspects its access token. If it ended at the IdP, ends it here.
 *
 * @throws the error that prevented an answer; the session continues
 */
export async function checkSession(session: OpenSession, deps: CheckDeps): Promise<CheckOutcome> {
  const release = await deps.lease?.(session.id)
  if (release === null) return 'unknown'
  try {
    return await checkLeased(session, deps)
  } finally {
    // Ignore a failed release of the session's lease, because the lease expires by itself.
    await release?.().catch(() => undefined)
  }
}

async function checkLeased(session: OpenSession, deps: CheckDeps): Promise<CheckOutcome> {
  const { client, freshMs, now } = deps
  const { tokens, idToken, renewedAt } = await session.read()
  // If the session has neither tokens nor an ID token, it ended after the check began.
  if (!tokens) return idToken === null ? 'unknown' : 'unchecked'
  if (deps.isClosing()) return 'unknown'
  const { access, accessExpiresAt, refresh } = tokens
  if (refresh === null || !session.write) {
    const state = await introspectTokens({ access, accessExpiresAt, refresh: null }, client, now())
    return state === 'ended' ? end(session, null) : state === 'unknown' ? 'unchecked' : state
  }
  const ageMs = renewedAt === undefined ? Number.POSITIVE_INFINITY : now() - renewedAt
  if (ageMs >= 0 && ageMs < freshMs) return 'active'
  return deps.untilClosed(renew(session, tokens, refresh, idToken, deps))
}

async function renew(
  session: OpenSession,
  tokens: Tokens,
  refresh: string,
  idToken: string | null,
  { client, now, followGroups }: CheckDeps,
): Promise<CheckOutcome> {
  try {
    const renewed = await client.renew(tokens, refresh, { subject: session.signIn.subject, idToken })
    await session.write?.({ tokens: renewed.tokens, idToken: renewed.idToken, renewedAt: now() })
    return (await followGroups(session, renewed)) ? 'active' : 'refused'
  } catch (error) {
    if (!endsSession(error)) throw error
    // Read the tokens again. If another process has renewed them since, the IdP refused only the old ones.
    const { tokens: current } = await session.read()
    if (!current) return 'unknown'
    return current.refresh === refresh ? end(session, error) : 'active'
  }
}

async function end(session: OpenSession, reason: LoginError | null): Promise<CheckOutcome> {
  await session.end()
  return { reason }
}

/**
 * Whether an error means that the session ended at the IdP. Source: RFC 6749, section 5.2; OpenID Connect Core 1.0,
 * section 12.2.
 */
function endsSession(error: unknown): error is LoginError {
  if (!(error instanceof LoginError)) return false
  return error.code === 'id_token_invalid' || error.details.error === 'invalid_grant'
}
