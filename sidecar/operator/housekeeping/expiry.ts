const HOUR_MS = 3_600_000

/** Phones register every 6 hours; with this much more, each one had its chance. */
const HEARTBEAT_MS = 7 * HOUR_MS

/**
 * A run comes every hour. When the wall clock moved by more than this between two, the machine slept, or the clock was
 * set.
 */
const USUAL_GAP_MS = 2 * HOUR_MS

/** Tells which stations may be forgotten. Pure but for its memory: time comes in, in milliseconds since 1970. */
export interface Expiry {
  /**
   * Stations that were last seen before the result have expired; undefined when nobody may be judged yet.
   * `sharedSince`: since when somebody was there to be called, where others are too.
   */
  cutoff(now: number, sharedSince?: number): number | undefined
}

/**
 * A station expires when it has not registered for `expireAfterMs`. Silence counts against it only after the sidecar
 * has been there to be called for a heartbeat's time: after an outage of weeks, or a leap of the clock, everybody would
 * seem to be gone.
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
