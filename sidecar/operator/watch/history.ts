import type { Clock } from '../../clock.ts'
import type { CounterName, Metrics } from '../../metrics.ts'

/** The counters whose last hour the status page shows. */
export const CHARTED = [
  'lines_received',
  'messages_stored',
  'messages_duplicate',
  'messages_lost',
  'pushes_accepted',
  'pushes_retried',
  'pushes_refused',
  'pushes_given_up',
  'api_requests',
  'api_errors',
  'api_dropped',
] as const satisfies readonly CounterName[]
export type Counts = Readonly<Record<(typeof CHARTED)[number], number>>

/** What was counted in one minute. */
export interface Minute {
  /** Which minute of the clock it is: when that began, in milliseconds since 1970. */
  readonly startedAt: number
  readonly counts: Counts
}

/** How many minutes are kept, the running one included. */
export const MINUTES = 60
const MINUTE_MS = 60_000
const EARLY_MS = 50

/** The counters minute by minute, over the last hour. */
export interface History {
  /** Oldest first, at most {@link MINUTES}; the last one is still running. */
  minutes(): readonly Minute[]
  close(): void
}

/**
 * Begins to watch the counters, by the minutes of the clock: the first one is as long as what is left of it. Their ages are those of
 * elapsed time: a step of the wall clock moves no bar, and the times of all follow it.
 */
export function recordHistory(metrics: Pick<Metrics, 'value'>, clock: Clock): History {
  const finished: Counts[] = []
  let startedAt = minuteOf(clock.now())
  let atStart = read()
  let timer = clock.after(leftOf(clock.now()), turn)

  function read(): Counts {
    return Object.fromEntries(CHARTED.map((name) => [name, metrics.value(name)])) as Counts
  }

  function running(): Counts {
    return Object.fromEntries(CHARTED.map((name) => [name, metrics.value(name) - atStart[name]])) as Counts
  }

  function turn(): void {
    finished.push(running())
    if (finished.length >= MINUTES) finished.shift()
    atStart = read()
    // A timer may be a little early, by the wall clock too.
    const now = clock.now() + EARLY_MS
    startedAt = minuteOf(now)
    timer = clock.after(leftOf(now) + EARLY_MS, turn)
  }

  return {
    minutes() {
      const now = clock.now()
      const stepped = now < startedAt - EARLY_MS || now >= startedAt + 2 * MINUTE_MS
      const newest = stepped ? minuteOf(now) : startedAt
      const counts = [...finished, running()]
      return counts.map((one, at) => ({ startedAt: newest - (counts.length - 1 - at) * MINUTE_MS, counts: one }))
    },
    close: () => timer.cancel(),
  }
}

/** When the minute of the clock began that `ms` lies in. */
function minuteOf(ms: number): number {
  return Math.floor(ms / MINUTE_MS) * MINUTE_MS
}

/** Milliseconds from `ms` to the next minute of the clock. */
function leftOf(ms: number): number {
  return minuteOf(ms) + MINUTE_MS - ms
}
