import { hash } from 'node:crypto'
import type { Request } from 'express'
import type { Clock } from '../clock.ts'
import { LoginError } from '../errors.ts'
import { logFailure } from '../host/auth-log.ts'
import type { Host, Tokens } from '../host/port.ts'
import type { ProviderClient } from '../provider/client.ts'

/** An answer is good for this long: hosts may ask at every request, the IdP is not asked at every one. */
const FRESH_MS = 10_000
/** Sessions whose answer is kept; the oldest are forgotten first. */
const MOST_ANSWERS = 10_000

/**
 * What an IdP says of a session: it goes on, it has ended there, or nobody can tell: the session kept no token, the one
 * that it kept has run out of time, the IdP has no endpoint for the question, or gave no answer.
 */
export type SessionState = 'active' | 'ended' | 'unknown'

/** A domain whose IdP is asked. */
export interface AskedDomain {
  readonly domainKey: string
  /** Null: the configuration has errors. */
  readonly working: { readonly client: Pick<ProviderClient, 'introspect'> } | null
}

/**
 * Whether the browser's session goes on at the IdP of the domain that it was begun at; an answer of the last 10 s will
 * do, be it that none came. Never rejects.
 */
export function createIntrospection(
  domains: readonly AskedDomain[],
  host: Host,
  clock: Clock,
): (req: Request) => Promise<SessionState> {
  const answers = new Map<string, { readonly at: number; readonly state: Promise<SessionState> }>()

  function lateStateOf(domainKey: string, tokens: Tokens, client: Pick<ProviderClient, 'introspect'>) {
    const key = hash('sha256', JSON.stringify([domainKey, tokens.access, tokens.refresh]), 'base64url')
    const known = answers.get(key)
    if (known && clock.elapsed() - known.at < FRESH_MS) return known.state
    const state = stateOf(tokens, client, clock.now())
    answers.delete(key)
    answers.set(key, { at: clock.elapsed(), state })
    const [oldest] = answers.keys()
    if (answers.size > MOST_ANSWERS && oldest !== undefined) answers.delete(oldest)
    return state
  }

  return async (req) => {
    let domainKey = ''
    try {
      const session = await host.sessions.current(req)
      if (!session) return 'ended'
      domainKey = session.domainKey
      const working = domains.find((domain) => domain.domainKey === domainKey)?.working
      if (!working) return 'unknown'
      const { tokens } = (await host.sessions.kept?.(req)) ?? session
      return tokens ? await lateStateOf(domainKey, tokens, working.client) : 'unknown'
    } catch (error) {
      const failure = error instanceof LoginError ? error : new LoginError('host_failed', { cause: error })
      logFailure(host, req, domainKey, 'introspection-failed', failure)
      return 'unknown'
    }
  }
}

/** By its tokens (RFC 7662): a session has ended when none of them is active. @throws LoginError */
export async function stateOf(
  { access, accessExpiresAt, refresh }: Tokens,
  client: Pick<ProviderClient, 'introspect'>,
  now: number,
): Promise<SessionState> {
  // That it has run out is no news of the session.
  const isExpired = accessExpiresAt !== null && accessExpiresAt <= now
  const told = isExpired ? null : await client.introspect(access, 'access_token')
  const isActive = told === true || refresh === null ? told : await client.introspect(refresh, 'refresh_token')
  if (isActive === null) return 'unknown'
  return isActive ? 'active' : 'ended'
}
