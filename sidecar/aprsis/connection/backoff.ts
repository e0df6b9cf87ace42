const SHORTEST_MS = 1000
const LONGEST_MS = 60_000

/**
 * Range of the delay after a dropped login, in milliseconds. It is short enough that a connection is up again within 5
 * s, and long enough that the server need not handle a login every second.
 */
const DROPPED_SHORTEST_MS = 2000
const DROPPED_LONGEST_MS = 4000

/**
 * Returns the delay before the next try in milliseconds: between 1 s and a limit that doubles with each failure, up to
 * 60 s. The random spread prevents all clients from reconnecting at once to a server that restarted. `failures` counts
 * from 1; `random` is from 0 to below 1.
 */
export function backoffMs(failures: number, random: number): number {
  const limit = Math.min(LONGEST_MS, SHORTEST_MS * 2 ** failures)
  return spread(SHORTEST_MS, limit, random)
}

/**
 * Returns the delay, in milliseconds, after a server accepted the login and then ended the connection. The delay does
 * not grow with each drop. APRS-IS sends each message once, so each second without a connection loses messages.
 */
export function afterDropMs(random: number): number {
  return spread(DROPPED_SHORTEST_MS, DROPPED_LONGEST_MS, random)
}

function spread(fromMs: number, toMs: number, random: number): number {
  return Math.round(fromMs + random * (toMs - fromMs))
}
