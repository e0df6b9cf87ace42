const SHORTEST_MS = 1000
const LONGEST_MS = 60_000

/** Delay after a dropped login in milliseconds: the connection is up again within 5 s, without a login every second. */
const DROPPED_SHORTEST_MS = 2000
const DROPPED_LONGEST_MS = 4000

/**
 * Returns the delay before the next try in milliseconds: random from 1 s to a limit that doubles up to 60 s, so that
 * clients do not reconnect all at once.
 *
 * @param failures from 1
 * @param random from 0 to below 1
 */
export function backoffMs(failures: number, random: number): number {
  const limit = Math.min(LONGEST_MS, SHORTEST_MS * 2 ** failures)
  return spread(SHORTEST_MS, limit, random)
}

/**
 * Returns the delay after a dropped login, in milliseconds. It does not grow with each drop, because APRS-IS sends each
 * message only once.
 */
export function afterDropMs(random: number): number {
  return spread(DROPPED_SHORTEST_MS, DROPPED_LONGEST_MS, random)
}

function spread(fromMs: number, toMs: number, random: number): number {
  return Math.round(fromMs + random * (toMs - fromMs))
}
