import { createHash } from 'node:crypto'
import type { Request } from 'express'
import type { Clock } from '../clock.ts'
import { LoginError } from '../errors.ts'
import { logFailure } from '../host/auth-log.ts'
import type { Host, SignIn, Tokens } from '../host/port.ts'
import type { ProviderClient } from '../provider/client.ts'

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

/** A domain whose sessions may be asked about. */
export interface AskedStrategy {
  readonly domainKey: string
  /** Null: the configuration has errors. */
  readonly working: { readonly client: Pick<ProviderClient, 'introspect'> } | null
}

/** Asks an IdP about sessions by their tokens (RFC 7662). A session has ended when none of them is active. */
export interface Introspection {
  /** An answer of the last 10 s will do. @throws what `ask` throws */
  stateOf(session: SignIn, ask: AskAboutToken): Promise<SessionState>
}

export function createIntrospection(clock: Clock): Introspection {
  const answers = new Map<string, { readonly at: number; readonly state: Promise<SessionState> }>()

  function keep(key: string, state: Promise<SessionState>): Promise<SessionState> {
    answers.delete(key)
    answers.set(key, { at: clock.elapsed(), state })
    for (const oldest of answers.keys()) {
      if (answers.size <= MOST_ANSWERS) break
      answers.delete(oldest)
    }
    return state
  }

  async function askAbout({ access, accessExpiresAt, refresh }: Tokens, ask: AskAboutToken): Promise<SessionState> {
    // That it has run out is no news of the session.
    const isExpired = accessExpiresAt !== null && accessExpiresAt <= clock.now()
    const told = isExpired ? undefined : await ask(access, 'access_token')
    if (told === null || (isExpired && refresh === null)) return 'unknown'
    const living = told?.active || refresh === null ? told : await ask(refresh, 'refresh_token')
    if (!living) return 'unknown'
    return living.active ? 'active' : 'ended'
  }

  return {
    async stateOf({ domainKey, tokens }, ask) {
      if (!tokens) return 'unknown'
      const key = keyOf(domainKey, tokens)
      const known = answers.get(key)
      return known && clock.elapsed() - known.at < FRESH_MS ? known.state : keep(key, askAbout(tokens, ask))
    },
  }
}

/** Whether the browser's session goes on at the IdP of the domain that it was begun at. Never rejects. */
export async function introspect(
  strategies: readonly AskedStrategy[],
  host: Host,
  introspection: Introspection,
  req: Request,
): Promise<SessionState> {
  let domainKey = ''
  try {
    const session = await host.sessions.current(req).catch((error: unknown) => {
      throw new LoginError('host_failed', { cause: error })
    })
    if (!session) return 'ended'
    domainKey = session.domainKey
    const working = strategies.find((strategy) => strategy.domainKey === domainKey)?.working
    if (!working) return 'unknown'
    const kept = await host.sessions.kept?.(req)
    return await introspection.stateOf({ ...session, ...kept }, (token, kind) => working.client.introspect(token, kind))
  } catch (error) {
    const failure = error instanceof LoginError ? error : new LoginError('internal', { cause: error })
    logFailure(host, req, domainKey, 'introspection-failed', failure)
    return 'unknown'
  }
}

function keyOf(domainKey: string, { access, refresh }: Tokens): string {
  return createHash('sha256')
    .update(JSON.stringify([domainKey, access, refresh]))
    .digest('base64url')
}
