import { LoginError } from '../errors.ts'
import type { OpenSession, Sessions, Tokens } from '../host/port.ts'
import type { ProviderClient } from '../provider/client.ts'
import { stateOf } from './introspection.ts'

/** `unknown`: the session kept no token of use, another process asks about it, or the IdP has no endpoint for the question. */
export type Answer =
  | { readonly kind: 'active' | 'unknown' }
  /** @param reason what the IdP said in place of new tokens, or is wrong with those; null: that the access token is not active */
  | { readonly kind: 'ended'; readonly reason: LoginError | null }

export interface CheckDeps {
  readonly client: Pick<ProviderClient, 'introspect' | 'renew'>
  readonly lease: Sessions['lease']
  /** Tokens that another process renewed less than that before now will do. */
  readonly freshMs: number
  /** Milliseconds since 1970. */
  readonly now: () => number
}

const ACTIVE: Answer = { kind: 'active' }
const UNKNOWN: Answer = { kind: 'unknown' }

/**
 * Asks the IdP whether a session still lives there, and ends it here where it does not: by its refresh token (RFC 6749, section 6), or,
 * where it has none, about its access token.
 *
 * @throws what keeps an answer from coming: then nobody's session has ended
 */
export async function askAbout(session: OpenSession, deps: CheckDeps): Promise<Answer> {
  const { tokens } = await session.read()
  if (!tokens) return UNKNOWN
  if (tokens.refresh === null || !session.write) return introspect(session, tokens, deps)
  const release = deps.lease ? await deps.lease(session.id) : undefined
  if (release === null) return UNKNOWN
  try {
    return await renew(session, deps)
  } finally {
    // Without that it is over by itself.
    await release?.().catch(() => undefined)
  }
}

async function renew(session: OpenSession, { client, freshMs, now }: CheckDeps): Promise<Answer> {
  // What was read before may have been renewed since.
  const { tokens, idToken, renewedAt } = await session.read()
  if (!tokens || tokens.refresh === null) return UNKNOWN
  const ageMs = renewedAt === undefined ? Number.POSITIVE_INFINITY : now() - renewedAt
  if (ageMs >= 0 && ageMs < freshMs) return ACTIVE
  const { subject } = session.signIn
  try {
    const fresh = await client.renew(tokens, tokens.refresh, { subject, idToken })
    await session.write?.({ tokens: fresh.tokens, idToken: fresh.idToken ?? idToken, renewedAt: now() })
    return ACTIVE
  } catch (error) {
    if (!isEnd(error)) throw error
    // Of tokens that somebody else has renewed meanwhile it says nothing.
    const { tokens: current } = await session.read()
    if (!current) return UNKNOWN
    if (current.refresh !== tokens.refresh) return ACTIVE
    await session.end()
    return { kind: 'ended', reason: error }
  }
}

/** Source: RFC 6749, section 5.2; OpenID Connect Core 1.0, section 12.2. */
function isEnd(error: unknown): error is LoginError {
  if (!(error instanceof LoginError)) return false
  return error.code === 'id_token_invalid' || error.details.error === 'invalid_grant'
}

async function introspect(session: OpenSession, tokens: Tokens, { client, now }: CheckDeps): Promise<Answer> {
  const state = await stateOf({ ...tokens, refresh: null }, client, now())
  if (state !== 'ended') return { kind: state }
  await session.end()
  return { kind: 'ended', reason: null }
}
