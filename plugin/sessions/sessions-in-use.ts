import type { Clock } from '../clock.ts'
import { LoginError } from '../errors.ts'
import { logFailure } from '../host/auth-log.ts'
import type { Host } from '../host/port.ts'
import { gotNoAnswer } from '../provider/http/no-answer.ts'
import type { AskedStrategy } from './introspection.ts'
import type { SessionReview } from './session-review.ts'
import { startSessionRounds } from './session-rounds.ts'

/**
 * Has the IdPs asked about the sessions that are in use, where the server keeps track of them; each that ends has a line in the
 * authentication log.
 *
 * @param everyMs 0: nobody is asked
 * @returns ends it
 */
export function introspectInUse(
  strategies: readonly AskedStrategy[],
  { host, review, clock }: { readonly host: Host; readonly review: SessionReview; readonly clock: Clock },
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
    clock,
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
