/** Counts the actions of each client, and reports when they exceed a limit. Callers pass the time. */
export interface RateLimit {
  /**
   * Counts `weight` more actions of `client` (default 1). Returns false above the limit. `now`: elapsed milliseconds.
   */
  take(client: string, now: number, weight?: number): boolean
}

interface Window {
  readonly startedAt: number
  count: number
}

/** Maximum number of clients in each of two generations. Both take about 10 MB. Above it, the older one is dropped. */
const MAX_CLIENTS = 50_000

/**
 * Allows each client `max` actions in a window of `windowMs` milliseconds, which starts at its first action. The first
 * action after the window starts a new one.
 */
export function createRateLimit({ windowMs, max }: { readonly windowMs: number; readonly max: number }): RateLimit {
  // Two generations, each as long as a window, so that expired windows are dropped together. With a single map,
  // deleting the oldest entry would get slower with each earlier deletion.
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
