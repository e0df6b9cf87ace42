import type { Clock, Timer } from '../../clock.ts'
import type { Platform } from '../../messages/store.ts'

/**
 * Limit of notifications in flight to one gateway. FCM is no faster above 100. An APNs server that answers in 100 ms
 * took 5,000 notifications in 7 to 11 s with 100 slots, and in 4 to 6 s with 500.
 */
export const MAX_IN_FLIGHT: Readonly<Record<Platform, number>> = { android: 100, ios: 500, webpush: 500 }

/**
 * After all slots were taken, devices are claimed again once this many slots are free. Larger claims save a third of
 * the CPU time, but waiting for 125 slots sent a fifth fewer notifications per second.
 */
const ENOUGH_SLOTS = 25
/** Limit of the wait for {@link ENOUGH_SLOTS}, from the first free slot. */
const GATHER_MS = 10

interface SendSlotsParts {
  readonly platform: Platform
  /** Called when there are free slots for another claim. */
  readonly onFree: () => void
  readonly clock: Pick<Clock, 'after'>
}

/**
 * Limits the notifications in flight to the gateway of one platform. A claimed device takes a slot until its
 * notification is answered.
 *
 * - *Open*: a released slot is free at once.
 * - *Gathering*: all slots were taken. Released slots become free together, and the state *open*, once there are
 *   {@link ENOUGH_SLOTS} or after {@link GATHER_MS}.
 */
export class SendSlots {
  readonly platform: Platform
  readonly #parts: SendSlotsParts
  readonly #max: number
  #taken = 0
  #isGathering = false
  #timer: Timer | undefined

  constructor(parts: SendSlotsParts) {
    this.platform = parts.platform
    this.#parts = parts
    this.#max = MAX_IN_FLIGHT[parts.platform]
  }

  /** The number of devices that may be claimed now; 0 in the state *gathering*. */
  get free(): number {
    return this.#isGathering ? 0 : this.#max - this.#taken
  }

  take(): void {
    this.#taken += 1
    this.#isGathering ||= this.#taken >= this.#max
  }

  release(): void {
    this.#taken -= 1
    if (!this.#isGathering || this.#max - this.#taken >= ENOUGH_SLOTS) this.#open()
    else this.#timer ??= this.#parts.clock.after(GATHER_MS, () => this.#open())
  }

  #open(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#isGathering = false
    this.#parts.onFree()
  }
}
