import type { ClientAddress } from '../requests/client-address.ts'

/** A number of bytes in flight that is reserved for one answer. */
export interface Reservation {
  /** Releases the reserved bytes. Idempotent. */
  release(): void
}

/** Limits of the bytes in flight, for all clients together and for each single client. */
export interface FlightLimits {
  readonly inAll: number
  readonly perClient: number
}

/**
 * Counts bytes in flight: answers being built or not read yet. Unlimited, two slow clients could fill memory within the
 * rate limit.
 */
export class BytesInFlight {
  readonly #limits: FlightLimits
  /** Bytes in flight by client. A client without any has no entry, so there is at most one entry per connection. */
  readonly #byClient = new Map<ClientAddress, number>()
  #inAll = 0

  constructor(limits: FlightLimits) {
    this.#limits = limits
  }

  /**
   * Reserves `bytes` for an answer to `client`. Returns undefined if the client would exceed its limit, or all clients
   * together would exceed `maxInAll`.
   */
  reserve(client: ClientAddress, bytes: number, maxInAll = this.#limits.inAll): Reservation | undefined {
    const reserved = this.#byClient.get(client) ?? 0
    if (this.#inAll + bytes > maxInAll || reserved + bytes > this.#limits.perClient) return undefined
    this.#add(client, bytes)
    let isReserved = true
    return {
      release: () => {
        if (isReserved) this.#add(client, -bytes)
        isReserved = false
      },
    }
  }

  #add(client: ClientAddress, bytes: number): void {
    this.#inAll += bytes
    const sum = (this.#byClient.get(client) ?? 0) + bytes
    if (sum > 0) this.#byClient.set(client, sum)
    else this.#byClient.delete(client)
  }
}
