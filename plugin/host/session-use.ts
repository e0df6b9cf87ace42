import type { Clock } from '../clock.ts'

/**
 * When a session was last seen in a request, and last taken by {@link dueSessions} for a check. Elapsed milliseconds,
 * because the system clock may change.
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
 * Yields sessions that were taken at least `forMs` ago and used since, longest waiting first. A session counts as taken
 * when the next one is asked for.
 *
 * @param isUsed whether a session is in use without requests, such as by a socket
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
