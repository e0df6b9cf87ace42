import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import type { Clock } from '../../clock.ts'
import type { Metrics } from '../../metrics.ts'

const NS_PER_S = 1e9
const MS_PER_S = 1000
/** A probe this often, in milliseconds: it sees what holds requests up, and costs nothing to speak of. */
const RESOLUTION_MS = 20
/**
 * What is shown goes over this many spells of so long, and the one that is running: a minute, so that no usual scraper
 * misses one.
 */
const SPELLS = 6
const SPELL_MS = 10_000

/** Shows how late tasks run because others occupy the process, and stops to measure when it is closed. */
export function watchEventLoop(
  metrics: Pick<Metrics, 'gauge'>,
  clock: Clock,
  delays: Pick<IntervalHistogram, 'enable' | 'disable' | 'reset' | 'percentile'> = monitorEventLoopDelay({
    resolution: RESOLUTION_MS,
  }),
): { close(): void } {
  delays.enable()
  const finished: number[] = []
  let timer = clock.after(SPELL_MS, turn)

  function turn(): void {
    finished.push(delays.percentile(99))
    if (finished.length > SPELLS) finished.shift()
    delays.reset()
    timer = clock.after(SPELL_MS, turn)
  }

  metrics.gauge(
    'event_loop_lag_seconds',
    '99 of 100 tasks were less late than this, in the worst ten seconds of the last minute',
    () => {
      // What is measured contains the probe's own pause.
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
