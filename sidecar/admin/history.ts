import type { Clock } from '../clock.ts'
import type { CounterName, Metrics } from '../metrics.ts'

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
  /** When it began, in milliseconds since 1970. */
  readonly startedAt: number
  readonly counts: Counts
}

/** How many minutes are kept, the running one included. */
export const MINUTES = 60
const MINUTE_MS = 60_000

/** The counters minute by minute, over the last hour. */
export interface History {
  /** Oldest first, at most {@link MINUTES}; the last one is still running. */
  minutes(): readonly Minute[]
  close(): void
}

/** Begins to watch the counters. Minutes are those of elapsed time: a step of the wall clock moves no bar. */
export function recordHistory(metrics: Pick<Metrics, 'value'>, clock: Clock): History {
  const finished: Minute[] = []
  let startedAt = clock.now()
  let atStart = read()
  let timer = clock.after(MINUTE_MS, turn)

  function read(): Counts {
    return Object.fromEntries(CHARTED.map((name) => [name, metrics.value(name)])) as Counts
  }

  function running(): Minute {
    const counts = Object.fromEntries(CHARTED.map((name) => [name, metrics.value(name) - atStart[name]])) as Counts
    return { startedAt, counts }
  }

  function turn(): void {
    finished.push(running())
    if (finished.length >= MINUTES) finished.shift()
    startedAt = clock.now()
    atStart = read()
    timer = clock.after(MINUTE_MS, turn)
  }

  return {
    minutes: () => [...finished, running()],
    close: () => timer.cancel(),
  }
}
