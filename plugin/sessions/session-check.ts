import { LoginError } from '../errors.ts'
import type { OpenSession, Sessions, Tokens } from '../host/port.ts'
import type { ProviderClient } from '../provider/client.ts'
import type { Renewed } from '../provider/tokens/renewal.ts'
import { stateOf } from './introspection.ts'

/**
 * `unknown`: nobody asked now, for example because another process asks about the session. `unchecked`: nobody can ever
 * ask, because the session has no refresh token, and its access token cannot be introspected. `refused`: the IdP
 * renewed the session, and group rules no longer admit its user. Of one that has ended what the IdP said in place of
 * new tokens, or is wrong with those; null: that the access token is not active.
 */
export type Answer = 'active' | 'unknown' | 'unchecked' | 'refused' | { readonly reason: LoginError | null }

export interface CheckDeps {
  readonly client: Pick<ProviderClient, 'introspect' | 'renew'>
  readonly lease: Sessions['lease']
  /** Tokens that another process renewed less than that before now will do. */
  readonly freshMs: number
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Whether this process is about to end: it begins no renewal whose answer it could lose. */
  readonly isClosing: () => boolean
  /** Has the process wait for a renewal before it ends. */
  readonly untilClosed: <Outcome>(renewal: Promise<Outcome>) => Promise<Outcome>
  /**
   * Has the groups of a renewed ID token count, once the tokens are kept. False: they no longer admit the user. Never
   * rejects.
   */
  readonly followGroups: (session: OpenSession, renewed: Renewed) => Promise<boolean>
}

/**
 * Asks the IdP whether a session still lives there, and ends it here where it does not: by its refresh token (RFC 6749,
 * section 6), or, where it has none, about its access token.
 *
 * @throws what keeps an answer from coming: then nobody's session has ended
 */
export async function askAbout(session: OpenSession, deps: CheckDeps): Promise<Answer> {
  const release = await deps.lease?.(session.id)
  if (release === null) return 'unknown'
  try {
    return await ask(session, deps)
  } finally {
    // Without that it is over by itself.
    await release?.().catch(() => undefined)
  }
}

async function ask(session: OpenSession, deps: CheckDeps): Promise<Answer> {
  const { client, freshMs, now } = deps
  const { tokens, idToken, renewedAt } = await session.read()
  // Of a session that has ended meanwhile, there is no ID token either.
  if (!tokens) return idToken === null ? 'unknown' : 'unchecked'
  const { refresh } = tokens
  if (deps.isClosing()) return 'unknown'
  if (refresh === null || !session.write) {
    const state = await stateOf({ ...tokens, refresh: null }, client, now())
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
): Promise<Answer> {
  try {
    const renewed = await client.renew(tokens, refresh, { subject: session.signIn.subject, idToken })
    await session.write?.({ tokens: renewed.tokens, idToken: renewed.idToken, renewedAt: now() })
    return (await followGroups(session, renewed)) ? 'active' : 'refused'
  } catch (error) {
    if (!isEnd(error)) throw error
    // Of tokens that somebody else has renewed meanwhile it says nothing.
    const { tokens: current } = await session.read()
    if (!current) return 'unknown'
    return current.refresh === refresh ? end(session, error) : 'active'
  }
}

async function end(session: OpenSession, reason: LoginError | null): Promise<Answer> {
  await session.end()
  return { reason }
}

/** Source: RFC 6749, section 5.2; OpenID Connect Core 1.0, section 12.2. */
function isEnd(error: unknown): error is LoginError {
  if (!(error instanceof LoginError)) return false
  return error.code === 'id_token_invalid' || error.details.error === 'invalid_grant'
}
