/** Counts the actions of each client, and reports whether a client exceeds its limit. */
export interface RateLimit {
  /**
   * Counts `weight` further actions of `client`; 1 by default. Returns false if the client is above its limit. `now`:
   * elapsed time in milliseconds.
   */
  take(client: string, now: number, weight?: number): boolean
}

interface Window {
  readonly startedAt: number
  count: number
}

/**
 * Limit of clients in each of the two maps, which together take at most 10 MB. A full newer map replaces the older one.
 */
const MAX_CLIENTS = 50_000

/**
 * Allows each client `max` actions in a window of `windowMs` milliseconds, which starts at its first action. The first
 * action after the window starts a new one.
 */
export function createRateLimit({ windowMs, max }: { readonly windowMs: number; readonly max: number }): RateLimit {
  // `young` has the clients whose window began recently, and `old` the earlier ones. `old` is dropped as a whole. In a
  // single map, each deletion of the oldest entry would be slower than the one before.
  let young = new Map<string, Window>()
  let old = new Map<string, Window>()
  let generationAt = Number.NEGATIVE_INFINITY

  const hasEnded = (startedAt: number, now: number) => now - startedAt >= windowMs

  return {
    take(client, now, weight = 1) {
      if (hasEnded(generationAt, now) || young.size >= MAX_CLIENTS) {
        old = young
        young = new Map()
        generationAt = now
      }
      const window = young.get(client) ?? old.get(client)
      if (window && !hasEnded(window.startedAt, now)) {
        window.count += weight
        return window.count <= max
      }
      young.set(client, { startedAt: now, count: weight })
      return max >= weight
    },
  }
}
