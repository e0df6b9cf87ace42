import type { Clock } from '../../clock.ts'

const FIRST_MS = 10_000
/** As often as APNs lets a provider token be renewed; oftener it refuses those that are good, too. */
const MAX_MS = 20 * 60_000
/** By less than this, clocks are corrected now and then. */
const STEP_MS = 60_000

/**
 * While the clock is wrong, APNs finds each new provider token too old, and every notification would bring it two more of them. So it is
 * left alone: the longer, the oftener that happens in a row, and until somebody sets the clock.
 */
export interface ApnsTokenPause {
  isOn(): boolean
  /** It has found a new one too old. */
  begin(): void
  /** It has said anything else. */
  end(): void
}

export function createApnsTokenPause(clock: Pick<Clock, 'now' | 'elapsed'>): ApnsTokenPause {
  const ahead = () => clock.now() - clock.elapsed()
  let current: { readonly until: number; readonly aheadMs: number } | undefined
  let nextMs = FIRST_MS

  function isOn(): boolean {
    return current !== undefined && clock.elapsed() < current.until && Math.abs(ahead() - current.aheadMs) < STEP_MS
  }

  return {
    isOn,
    begin() {
      // Many notifications are told of the same token.
      if (isOn()) return
      current = { until: clock.elapsed() + nextMs, aheadMs: ahead() }
      nextMs = Math.min(nextMs * 2, MAX_MS)
    },
    end() {
      current = undefined
      nextMs = FIRST_MS
    },
  }
}
