/**
 * Limit of notifications in flight to one push service, a tenth of the slots. An app may choose one that never answers.
 */
export const SLOTS_PER_HOST = 50

/**
 * Delay before a notification that got no slot is tried again, in milliseconds. The first 50 of them wait this long,
 * the next 50 twice as long, and so on.
 */
const RETURN_MS = 500

/** Counts the notifications in flight to each host. It forgets a host when no notification to it is in flight. */
export class HostShares {
  readonly #hosts = new Map<string, { inFlight: number; turnedAway: number }>()

  /** Takes a slot. Returns undefined if one was free; otherwise the delay before the next try, in milliseconds. */
  enter(host: string): number | undefined {
    const share = this.#hosts.get(host) ?? { inFlight: 0, turnedAway: 0 }
    this.#hosts.set(host, share)
    if (share.inFlight < SLOTS_PER_HOST) {
      share.inFlight += 1
      return undefined
    }
    share.turnedAway += 1
    return RETURN_MS * Math.ceil(share.turnedAway / SLOTS_PER_HOST)
  }

  leave(host: string): void {
    const share = this.#hosts.get(host)
    if (!share) return
    share.inFlight -= 1
    share.turnedAway = Math.max(0, share.turnedAway - 1)
    if (share.inFlight === 0) this.#hosts.delete(host)
  }
}
