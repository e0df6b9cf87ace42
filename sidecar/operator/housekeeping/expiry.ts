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
   * Returns a time: stations that last registered before it have expired. Returns undefined while no station may
   * expire. `sharedSince`: the time since which phones could reach at least one of the processes that share the store.
   */
  cutoff(now: number, sharedSince?: number): number | undefined
}

/**
 * Creates the rule that a station expires when it has not registered for `expireAfterMs`. No station expires until
 * phones could reach the sidecar for one heartbeat interval. Without this grace period, all stations would expire after
 * an outage of weeks, or after the clock was set ahead.
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
