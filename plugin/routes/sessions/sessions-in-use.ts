import { LoginError } from '../../errors.ts'
import { gotNoAnswer } from '../../provider/http/no-answer.ts'
import { startSessionRounds } from '../../sessions/session-rounds.ts'
import { logFailure } from '../login/failure.ts'
import type { RouteDeps, Strategy } from '../strategy.ts'

/**
 * Has the IdPs asked about the sessions that are in use, where the server keeps track of them; each that ends has a line in the
 * authentication log.
 *
 * @param everyMs 0: nobody is asked
 * @returns ends it
 */
export function introspectInUse(
  strategies: readonly Strategy[],
  { host, review }: Pick<RouteDeps, 'host' | 'review'>,
  everyMs: number,
): () => void {
  const { sessions } = host
  if (everyMs === 0 || !sessions.inUse) return () => undefined
  return startSessionRounds({
    everyMs,
    inUse: sessions.inUse.bind(sessions),
    domains: strategies.flatMap(({ domainKey, working }) =>
      working
        ? [
            {
              domainKey,
              ask: (token, kind) => working.client.introspect(token, kind),
              renew: (tokens) => working.client.renew(tokens),
              introspects: () => working.client.introspects(),
            },
          ]
        : [],
    ),
    review,
    now: Date.now,
    isAway: gotNoAnswer,
    onEnded: ({ signIn: { domainKey, userId } }) =>
      host.authLog({
        level: 'info',
        event: 'session-ended',
        message: 'The IdP was asked about a session in use, and says that it is over: it has ended here too.',
        domain: domainKey,
        fields: { user: userId },
      }),
    onFailure: (domainKey, error) => {
      const failure = error instanceof LoginError ? error : new LoginError('host_failed', { cause: error })
      logFailure(host, null, domainKey, 'introspection-failed', failure)
    },
  })
}
