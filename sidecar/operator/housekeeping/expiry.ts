const HOUR_MS = 3_600_000

/** Time within which each phone should have registered. Phones register every 6 hours. */
const HEARTBEAT_MS = 7 * HOUR_MS

/**
 * Housekeeping runs every hour. If the wall clock moved by more than this between two runs, the machine slept or the
 * clock was set.
 */
const USUAL_GAP_MS = 2 * HOUR_MS

/** Decides which stations have expired. Times are in milliseconds since 1970. */
export interface Expiry {
  /**
   * Returns a time: stations that were last seen before it have expired. Returns undefined while no station may expire.
   * `sharedSince`: the time since which at least one of the processes that share the store has been reachable.
   */
  cutoff(now: number, sharedSince?: number): number | undefined
}

/**
 * Creates an expiry: a station expires when it has not registered for `expireAfterMs`. No station expires until the
 * sidecar has been reachable for one heartbeat interval. Otherwise all stations would seem silent after an outage of
 * weeks or a leap of the clock.
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
