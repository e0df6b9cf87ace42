import type { Clock } from '../clock.ts'

/**
 * When a session last sent a request (`seenAt`), and when {@link dueSessions} last yielded it for a check at the IdP
 * (`takenAt`). Both are elapsed milliseconds (`Clock.elapsed`), so that changes of the system clock do not affect them.
 */
export interface SessionUse {
  seenAt: number
  takenAt: number
}

/**
 * Starts to track a session that this process sees for the first time. The session's start counts as its first check.
 *
 * @param startedAt milliseconds since 1970
 */
export function firstUse(clock: Clock, startedAt: number): SessionUse {
  const seenAt = clock.elapsed()
  return { seenAt, takenAt: seenAt - Math.max(0, clock.now() - startedAt) }
}

/**
 * Yields the sessions that were last taken at least `forMs` ago and were used since, starting with the session that
 * waited longest. A session counts as taken when the caller asks for the next session.
 *
 * @param isUsed whether a session is in use although it sent no request, for example because it has an open socket
 */
export function* dueSessions<Session extends SessionUse>(
  forMs: number,
  sessions: Iterable<Session>,
  clock: Clock,
  isUsed: (session: Session) => boolean = () => false,
): Generator<Session> {
  const latestTakenAt = clock.elapsed() - forMs
  const due = [...sessions].filter(
    (session) => session.takenAt <= latestTakenAt && (session.seenAt >= session.takenAt || isUsed(session)),
  )
  for (const session of due.sort((a, b) => a.takenAt - b.takenAt)) {
    yield session
    // This line runs only after the caller asks for the next session. If the caller asks for none, this session stays
    // due.
    session.takenAt = clock.elapsed()
  }
}
