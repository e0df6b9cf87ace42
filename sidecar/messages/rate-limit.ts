/** Counts what each client did, and says when it was too much. Pure but for its memory: time comes in. */
export interface RateLimit {
  /**
   * Counts one more for `client`, or `weight` more; false when that is over the limit. `now` in milliseconds of elapsed
   * time.
   */
  take(client: string, now: number, weight?: number): boolean
}

interface Window {
  readonly startedAt: number
  count: number
}

/** Clients remembered in each of the two generations, about 10 MB together; past that the older ones are forgotten. */
const MAX_CLIENTS = 50_000

/** At most `max` in `windowMs` milliseconds from a client's first one; then a new window begins. */
export function createRateLimit({ windowMs, max }: { readonly windowMs: number; readonly max: number }): RateLimit {
  // Two generations of a window's length each, so that what is over is forgotten in one go: taking the oldest out of
  // one map at a time gets slower with each that was taken out before.
  let young = new Map<string, Window>()
  let old = new Map<string, Window>()
  let turnedAt = Number.NEGATIVE_INFINITY

  const isOver = (startedAt: number, now: number) => now - startedAt >= windowMs

  return {
    take(client, now, weight = 1) {
      if (isOver(turnedAt, now) || young.size >= MAX_CLIENTS) {
        old = young
        young = new Map()
        turnedAt = now
      }
      const window = young.get(client) ?? old.get(client)
      if (window && !isOver(window.startedAt, now)) {
        window.count += weight
        return window.count <= max
      }
      young.set(client, { startedAt: now, count: weight })
      return max >= weight
    },
  }
}
