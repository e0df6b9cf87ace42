import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Metrics } from '../metrics.ts'

const NS_PER_S = 1e9
const MS_PER_S = 1000
/** A probe this often, in milliseconds: it sees what holds requests up, and costs nothing to speak of. */
const RESOLUTION_MS = 20

/** Shows how late tasks run because others occupy the process, and stops to measure when it is closed. */
export function watchEventLoop(metrics: Pick<Metrics, 'gauge'>): { close(): void } {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delays.enable()
  metrics.gauge(
    'event_loop_lag_seconds',
    '99 of 100 tasks were less late than this since it was last asked for',
    () => {
      // What is measured contains the probe's own pause.
      const lateS = delays.percentile(99) / NS_PER_S - RESOLUTION_MS / MS_PER_S
      delays.reset()
      return Math.max(0, lateS)
    },
  )
  return { close: () => void delays.disable() }
}
