import { createHash } from 'node:crypto'
import type { SignIn, Tokens } from '../host/port.ts'

/** An answer is good for this long: hosts may ask at every request, the IdP is not asked at every one. */
const FRESH_MS = 10_000
/** Sessions whose answer is kept; the oldest are forgotten first. */
const MOST_ANSWERS = 10_000

/**
 * What an IdP says of a session: it goes on, it has ended there, or nobody can tell: the session kept no token, the one that it kept
 * has run out of time, the IdP has no endpoint for the question, or gave no answer.
 */
export type SessionState = 'active' | 'ended' | 'unknown'

/** Asks about a token. Null: the IdP cannot be asked. */
export type AskAboutToken = (
  token: string,
  kind: 'access_token' | 'refresh_token',
) => Promise<{ active: boolean } | null>

/** Asks an IdP about sessions by their tokens (RFC 7662); a refresh token where there is one, since it lives as long as the grant. */
export interface Introspection {
  /** @throws what `ask` throws */
  stateOf(session: SignIn, ask: AskAboutToken): Promise<SessionState>
}

/** @param now milliseconds since 1970 */
export function createIntrospection(now: () => number): Introspection {
  const answers = new Map<string, { readonly at: number; readonly state: Promise<SessionState> }>()

  function keep(key: string, state: Promise<SessionState>): Promise<SessionState> {
    answers.delete(key)
    answers.set(key, { at: now(), state })
    for (const oldest of answers.keys()) {
      if (answers.size <= MOST_ANSWERS) break
      answers.delete(oldest)
    }
    return state
  }

  return {
    async stateOf({ domainKey, tokens }, ask) {
      if (!tokens) return 'unknown'
      const { token, kind } = best(tokens)
      // That it is over is no news of the session.
      if (kind === 'access_token' && tokens.accessExpiresAt !== null && tokens.accessExpiresAt <= now())
        return 'unknown'
      const key = createHash('sha256')
        .update(JSON.stringify([domainKey, token]))
        .digest('base64url')
      const known = answers.get(key)
      if (known && now() - known.at < FRESH_MS && now() >= known.at) return known.state
      return keep(
        key,
        ask(token, kind).then((status) => (status === null ? 'unknown' : status.active ? 'active' : 'ended')),
      )
    },
  }
}

function best({ access, refresh }: Tokens) {
  return refresh === null
    ? ({ token: access, kind: 'access_token' } as const)
    : ({ token: refresh, kind: 'refresh_token' } as const)
}
