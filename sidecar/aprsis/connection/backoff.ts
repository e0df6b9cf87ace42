const SHORTEST_MS = 1000
const LONGEST_MS = 60_000

/**
 * After a login that was dropped: so that one that comes through at once is back within 5 s, and nobody is asked every
 * second.
 */
const DROPPED_SHORTEST_MS = 2000
const DROPPED_LONGEST_MS = 4000

/**
 * How long to wait before the next try, in milliseconds: anything between 1 s and a limit that doubles with each
 * failure, up to 60 s. The spread keeps clients from returning all at once to a server that restarted. `failures`
 * counts from 1; `random` is from 0 to below 1.
 */
export function backoffMs(failures: number, random: number): number {
  const limit = Math.min(LONGEST_MS, SHORTEST_MS * 2 ** failures)
  return spread(SHORTEST_MS, limit, random)
}

/**
 * The same after a server took the login and ended the connection soon after. It does not grow: while a server is there
 * and takes us, each second without a connection costs messages, which APRS-IS sends once.
 */
export function afterDropMs(random: number): number {
  return spread(DROPPED_SHORTEST_MS, DROPPED_LONGEST_MS, random)
}

function spread(fromMs: number, toMs: number, random: number): number {
  return Math.round(fromMs + random * (toMs - fromMs))
}
