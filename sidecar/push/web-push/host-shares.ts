/**
 * Slots of one push service. A tenth of the lane's, so that no service that hangs holds up the others: whoever
 * registers a phone chooses its push service.
 */
export const SLOTS_PER_HOST = 50

/**
 * How soon a notification comes back that found no slot, in milliseconds; those behind it come later, one slot after
 * the other.
 */
const RETURN_MS = 500

/** Notifications in flight by host. Holds a host only while it has some. */
export class HostShares {
  readonly #hosts = new Map<string, { inFlight: number; turnedAway: number }>()

  /** Takes a slot. Returns undefined if there was one, else how many milliseconds later to ask again. */
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
