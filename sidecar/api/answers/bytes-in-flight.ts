import type { ClientAddress } from '../requests/client-address.ts'

/** Bytes in flight that are reserved for one answer. */
export interface Reservation {
  /** Returns the bytes; idempotent. */
  release(): void
}

/** Limits of the bytes of answers that may wait to be sent or read. */
export interface FlightLimits {
  readonly inAll: number
  readonly perClient: number
}

/**
 * Counts the bytes of answers that are being built, or that the system has not taken because their readers are slow.
 * Without a bound, two clients that read nothing could fill the memory within the rate limit.
 */
export class BytesInFlight {
  readonly #limits: FlightLimits
  /** Only clients with bytes in flight; at most one per connection. */
  readonly #byClient = new Map<ClientAddress, number>()
  #inAll = 0

  constructor(limits: FlightLimits) {
    this.#limits = limits
  }

  /**
   * Reserves `bytes`. Returns undefined if the client would exceed its limit, or all clients together would exceed
   * `maxInAll`.
   */
  reserve(client: ClientAddress, bytes: number, maxInAll = this.#limits.inAll): Reservation | undefined {
    const before = this.#byClient.get(client) ?? 0
    if (this.#inAll + bytes > maxInAll || before + bytes > this.#limits.perClient) return undefined
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
