const HOUR_MS = 3_600_000

/** Time within which each running phone registers again, in milliseconds. Phones register every 6 hours. */
const HEARTBEAT_MS = 7 * HOUR_MS

/**
 * Housekeeping runs every hour. If the wall clock moves by more than this between two runs, the machine slept or the
 * clock was set.
 */
const USUAL_GAP_MS = 2 * HOUR_MS

/** Decides which stations have expired. Times are in milliseconds since 1970. */
export interface Expiry {
  /**
   * Returns a time: stations that last registered before it have expired. Undefined while no station may expire.
   *
   * @param sharedSince since when phones could reach a process of the shared store
   */
  cutoff(now: number, sharedSince?: number): number | undefined
}

/**
 * Creates the rule that a station expires `expireAfterMs` after its last registration, but only once phones could reach
 * the sidecar for a heartbeat interval. Otherwise all would expire after an outage of weeks, or a clock set ahead.
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
