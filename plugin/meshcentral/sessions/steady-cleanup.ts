import type { Clock, Timer } from '../../clock.ts'

const EVERY_MS = 60 * 60_000
/**
 * Longer than a machine starts with a wrong clock before somebody sets it, and shorter than from one night's restart to
 * the next.
 */
const STEADY_MS = 12 * 60 * 60_000
/** A clock that is only slowed down or sped up gains less in an hour. */
const STEP_MS = 60_000

/**
 * Has what has run out removed once an hour, while the clock can be believed: it went for half a day as the time did. A
 * machine that starts with its clock a month ahead would forget whatever has ended, and ended sessions would be back
 * once the clock is right.
 *
 * @returns ends it
 */
export function cleanUpWhileSteady(clock: Clock, cleanUp: () => void): () => void {
  let steadySince = clock.elapsed()
  let ahead = clock.now() - clock.elapsed()
  let timer = lookLater()

  function lookLater(): Timer {
    return clock.after(EVERY_MS, () => {
      timer = lookLater()
      const before = ahead
      ahead = clock.now() - clock.elapsed()
      if (Math.abs(ahead - before) > STEP_MS) steadySince = clock.elapsed()
      if (clock.elapsed() - steadySince >= STEADY_MS) cleanUp()
    })
  }

  return () => timer.cancel()
}
