export interface CleaningOptions {
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly cleanUp: () => void
  /** Default: an hour. */
  readonly everyMs?: number | undefined
  /** Milliseconds since whenever, however the clock is set. Default: the process's own. */
  readonly elapsed?: (() => number) | undefined
}

const EVERY_MS = 60 * 60_000
/** Longer than a machine starts with a wrong clock before somebody sets it, and shorter than from one night's restart to the next. */
const STEADY_MS = 12 * 60 * 60_000
/** A clock that is only slowed down or sped up gains less in an hour. */
const STEP_MS = 60_000

/**
 * Has what has run out removed, over and over, while the clock can be believed: it went for half a day as the time did. A machine that
 * starts with its clock a month ahead would forget whatever has ended, and ended sessions would be back once the clock is right.
 *
 * @returns ends it
 */
export function cleanWhileSteady(options: CleaningOptions): () => void {
  const { now, cleanUp, everyMs = EVERY_MS, elapsed = () => performance.now() } = options
  let steadySince = elapsed()
  let ahead = now() - elapsed()
  const timer = setInterval(() => {
    const before = ahead
    ahead = now() - elapsed()
    if (Math.abs(ahead - before) > STEP_MS) steadySince = elapsed()
    if (elapsed() - steadySince >= STEADY_MS) cleanUp()
  }, everyMs).unref()
  return () => clearInterval(timer)
}
