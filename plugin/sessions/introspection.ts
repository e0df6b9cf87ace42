import { hash } from 'node:crypto'
import type { Request } from 'express'
import type { Clock } from '../clock.ts'
import { LoginError } from '../errors.ts'
import { logFailure } from '../host/auth-log.ts'
import type { Host, Tokens } from '../host/port.ts'
import type { ProviderClient } from '../provider/client.ts'

/** How long a session's state is reused, in milliseconds. A host may ask for it at each of its requests. */
const FRESH_MS = 10_000
/** Limit of remembered session states. Beyond it, the oldest are dropped. */
const MOST_ANSWERS = 10_000

/**
 * The state of a session at its IdP. `unknown` without a valid token or introspection endpoint, or if the IdP did not
 * answer.
 */
export type SessionState = 'active' | 'ended' | 'unknown'

/** A domain and the OpenID Connect client that introspects the tokens of the domain's sessions. */
export interface IntrospectedDomain {
  readonly domainKey: string
  /** The client that introspects tokens. Null if the domain's configuration has errors. */
  readonly working: { readonly client: Pick<ProviderClient, 'introspect'> } | null
}

/**
 * Returns a function that asks the IdP for the browser session's state. It reuses answers for 10 s. It never rejects.
 */
export function createIntrospection(
  domains: readonly IntrospectedDomain[],
  host: Host,
  clock: Clock,
): (req: Request) => Promise<SessionState> {
  const answers = new Map<string, { readonly askedAt: number; readonly state: Promise<SessionState> }>()

  function recentState(domainKey: string, tokens: Tokens, client: Pick<ProviderClient, 'introspect'>) {
    const key = hash('sha256', JSON.stringify([domainKey, tokens.access, tokens.refresh]), 'base64url')
    const recent = answers.get(key)
    if (recent && clock.elapsed() - recent.askedAt < FRESH_MS) return recent.state
    const state = introspectTokens(tokens, client, clock.now())
    answers.delete(key)
    answers.set(key, { askedAt: clock.elapsed(), state })
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
      return tokens ? await recentState(domainKey, tokens, working.client) : 'unknown'
    } catch (error) {
      const failure = error instanceof LoginError ? error : new LoginError('host_failed', { cause: error })
      logFailure(host, req, domainKey, 'introspection-failed', failure)
      return 'unknown'
    }
  }
}

/**
 * Introspects the tokens of a session (RFC 7662). The session has ended if neither token is active.
 *
 * @throws LoginError
 */
export async function introspectTokens(
  { access, accessExpiresAt, refresh }: Pick<Tokens, 'access' | 'accessExpiresAt' | 'refresh'>,
  client: Pick<ProviderClient, 'introspect'>,
  now: number,
): Promise<SessionState> {
  // Skip an expired access token. The session may outlive it, so its state does not show whether the session ended.
  const isExpired = accessExpiresAt !== null && accessExpiresAt <= now
  const isAccessActive = isExpired ? null : await client.introspect(access, 'access_token')
  const isActive =
    isAccessActive === true || refresh === null ? isAccessActive : await client.introspect(refresh, 'refresh_token')
  if (isActive === null) return 'unknown'
  return isActive ? 'active' : 'ended'
}
