import type { Clock, Timer } from '../../clock.ts'

const EVERY_MS = 60 * 60_000
/**
 * How long the clock must have run without a step. This is longer than a machine usually runs with a wrong clock after
 * it starts, and shorter than the time between two nightly restarts.
 */
const STEADY_MS = 12 * 60 * 60_000
/** The change of the clock in an hour that counts as a step. A clock that runs slightly fast or slow drifts less. */
const STEP_MS = 60_000

/**
 * Calls `cleanUp` once an hour while the wall clock can be trusted: it must have run without a step for half a day. A
 * machine that starts with its clock a month ahead would delete all revocations, and revoked sessions would become
 * valid once the clock is corrected.
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
