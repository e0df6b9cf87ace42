import type { ClientAddress } from '../requests/client-address.ts'

/** Room for the bytes of one answer. */
export interface Room {
  /** Gives the room back; idempotent. */
  release(): void
}

/** How many bytes of answers may wait to be sent or read, in all and of one client. */
export interface FlightLimits {
  readonly inAll: number
  readonly perClient: number
}

/**
 * Counts the bytes of answers that are being made, or that the system has not taken yet because their readers are slow.
 * Without a bound, two clients that read nothing fill the memory within the rate limit.
 */
export class BytesInFlight {
  readonly #limits: FlightLimits
  /** Clients with bytes in flight only: as many as there are connections, at most. */
  readonly #ofClient = new Map<ClientAddress, number>()
  #inAll = 0

  constructor(limits: FlightLimits) {
    this.#limits = limits
  }

  /**
   * Takes room for `bytes`; undefined where there is not that much left of the limit for this client, or of `ofAll` for
   * all.
   */
  take(client: ClientAddress, bytes: number, ofAll = this.#limits.inAll): Room | undefined {
    const before = this.#ofClient.get(client) ?? 0
    if (this.#inAll + bytes > ofAll || before + bytes > this.#limits.perClient) return undefined
    this.#add(client, bytes)
    let taken = true
    return {
      release: () => {
        if (taken) this.#add(client, -bytes)
        taken = false
      },
    }
  }

  #add(client: ClientAddress, bytes: number): void {
    this.#inAll += bytes
    const now = (this.#ofClient.get(client) ?? 0) + bytes
    if (now > 0) this.#ofClient.set(client, now)
    else this.#ofClient.delete(client)
  }
}
