import type { Clock, Timer } from '../../clock.ts'

const EVERY_MS = 60 * 60_000
/**
 * How long the clock must run without a step before the clean-up, in milliseconds. A wrong clock is usually corrected
 * sooner; nightly restarts leave more time.
 */
const STEADY_MS = 12 * 60 * 60_000
/** Limit of the clock's drift in an hour. A greater change is a step: the clock was set. */
const STEP_MS = 60_000

/**
 * Calls `cleanUp` every hour once the wall clock ran without a step for half a day. Otherwise a server that starts with
 * its clock a month ahead would delete all revocations.
 *
 * @returns a function that stops the clean-up
 */
export function cleanUpWhileSteady(clock: Clock, cleanUp: () => void): () => void {
  let steadySince = clock.elapsed()
  let offset = clock.now() - clock.elapsed()
  let timer = schedule()

  function schedule(): Timer {
    return clock.after(EVERY_MS, () => {
      timer = schedule()
      const previousOffset = offset
      offset = clock.now() - clock.elapsed()
      if (Math.abs(offset - previousOffset) > STEP_MS) steadySince = clock.elapsed()
      if (clock.elapsed() - steadySince >= STEADY_MS) cleanUp()
    })
  }

  return () => timer.cancel()
}
