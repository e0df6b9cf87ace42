import type { Request } from 'express'
import { LoginError } from '../../errors.ts'
import type { Host } from '../../host/port.ts'
import type { Introspection, SessionState } from '../../sessions/introspection.ts'
import { logFailure } from '../login/failure.ts'
import type { Strategy } from '../strategy.ts'

/** Whether the browser's session goes on at the IdP of the domain that it was begun at. Never rejects. */
export async function introspect(
  strategies: readonly Strategy[],
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
    return await introspection.stateOf(session, (token, kind) => working.client.introspect(token, kind))
  } catch (error) {
    const failure = error instanceof LoginError ? error : new LoginError('internal', { cause: error })
    logFailure(host, req, domainKey, 'introspection-failed', failure)
    return 'unknown'
  }
}
