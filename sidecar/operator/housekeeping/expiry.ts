const HOUR_MS = 3_600_000

/** Phones register every 6 hours, so within this time each one had the chance to. */
const HEARTBEAT_MS = 7 * HOUR_MS

/**
 * Runs are hourly. If the wall clock moved by more than this between two runs, the machine slept or the clock was set.
 */
const USUAL_GAP_MS = 2 * HOUR_MS

/** Decides which stations have expired. Times are in milliseconds since 1970. */
export interface Expiry {
  /**
   * Returns the time such that stations last seen before it have expired. Undefined while no station may expire.
   * `sharedSince`: start of the time in which any of the processes that share the store was reachable.
   */
  cutoff(now: number, sharedSince?: number): number | undefined
}

/**
 * A station expires when it has not registered for `expireAfterMs`. No station expires until the sidecar has been
 * reachable for one heartbeat interval: after an outage of weeks or a leap of the clock, all stations would seem
 * silent.
 */
export function createExpiry(expireAfterMs: number, startedAt: number): Expiry {
  const graceMs = Math.min(HEARTBEAT_MS, expireAfterMs)
  let presentSince = startedAt
  let lastAt = startedAt
  return {
    cutoff(now, sharedSince) {
      if (now < lastAt || now - lastAt > USUAL_GAP_MS) presentSince = now
      lastAt = now
      return now - (sharedSince ?? presentSince) >= graceMs ? now - expireAfterMs : undefined
    },
  }
}
