const SHORTEST_MS = 1000
const LONGEST_MS = 60_000

/**
 * How long to wait before the next try, in milliseconds: anything between 1 s and a limit that doubles with each failure, up to
 * 60 s. The spread keeps clients from returning all at once to a server that restarted.
 * `failures` counts from 1; `random` is from 0 to below 1.
 */
export function backoffMs(failures: number, random: number): number {
  const limit = Math.min(LONGEST_MS, SHORTEST_MS * 2 ** failures)
  return Math.round(SHORTEST_MS + random * (limit - SHORTEST_MS))
}
