const SHORTEST_MS = 2000
const LONGEST_MS = 900_000

/**
 * How long to wait before the next try, in milliseconds: from half of a limit up to all of it, which doubles with each failure from 4 s to
 * 15 minutes. A rate limit shows as a connection that ends without a byte and lasts for a minute or, for new stations, an hour; the spread keeps
 * phones from returning all at once. `failures` counts from 1; `random` is from 0 to below 1.
 */
export function retryDelayMs(failures: number, random: number): number {
  const limit = Math.min(LONGEST_MS, SHORTEST_MS * 2 ** failures)
  return Math.round((limit * (1 + random)) / 2)
}
