import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import type { Clock } from '../../clock.ts'
import type { Metrics } from '../../metrics.ts'

const NS_PER_S = 1e9
const MS_PER_S = 1000
/** Interval between measurements of the event loop's delay, in milliseconds. Its cost is negligible. */
const RESOLUTION_MS = 20
/** Number of finished intervals that the gauge covers: one minute. Prometheus usually scrapes more often. */
const INTERVALS = 6
const INTERVAL_MS = 10_000

/**
 * Measures how late tasks start because the event loop is busy, and adds a gauge for it. `close` ends the measurement.
 */
export function watchEventLoop(
  metrics: Pick<Metrics, 'gauge'>,
  clock: Clock,
  delays: Pick<IntervalHistogram, 'enable' | 'disable' | 'reset' | 'percentile'> = monitorEventLoopDelay({
    resolution: RESOLUTION_MS,
  }),
): { close(): void } {
  delays.enable()
  const finished: number[] = []
  let timer = clock.after(INTERVAL_MS, startNext)

  function startNext(): void {
    finished.push(delays.percentile(99))
    if (finished.length > INTERVALS) finished.shift()
    delays.reset()
    timer = clock.after(INTERVAL_MS, startNext)
  }

  metrics.gauge(
    'event_loop_lag_seconds',
    'Delay of the event loop: the highest 99th percentile of any ten seconds in the last minute',
    () => {
      // Each measured delay includes the interval of the measurement. So that interval is subtracted.
      const lateS = Math.max(...finished, delays.percentile(99)) / NS_PER_S - RESOLUTION_MS / MS_PER_S
      return Math.max(0, lateS)
    },
  )
  return {
    close() {
      timer.cancel()
      delays.disable()
    },
  }
}
