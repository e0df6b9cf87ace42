import type { Clock } from '../clock.ts'

/**
 * When a session was used last, and when it was last handed out to be asked about: of elapsed time, however the wall
 * clock is set.
 */
export interface Use {
  seenAt: number
  takenAt: number
}

/**
 * Of a session that is seen for the first time here. It counts as handed out when it began, in milliseconds since 1970.
 */
export function firstUse(clock: Clock, startedAt: number): Use {
  const seenAt = clock.elapsed()
  return { seenAt, takenAt: seenAt - Math.max(0, clock.now() - startedAt) }
}

/**
 * Those that were not handed out for so long, and used since: who has waited longest comes first, and counts as handed
 * out once the next one is asked for.
 *
 * @param isUsed of one that may be in use without being seen
 */
export function* dueSessions<One extends Use>(
  forMs: number,
  those: Iterable<One>,
  clock: Clock,
  isUsed: (one: One) => boolean = () => false,
): Generator<One> {
  const before = clock.elapsed() - forMs
  const due = [...those].filter((one) => one.takenAt <= before && (one.seenAt >= one.takenAt || isUsed(one)))
  for (const one of due.sort((a, b) => a.takenAt - b.takenAt)) {
    yield one
    // Not of one at which whoever asked has stopped.
    one.takenAt = clock.elapsed()
  }
}
