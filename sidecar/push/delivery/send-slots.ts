import type { Clock, Timer } from '../../clock.ts'
import type { Platform } from '../../messages/store.ts'

/**
 * How many notifications may be in flight to one gateway. Further devices wait. FCM gains nothing by more. On a loaded
 * machine, 5,000 notifications to an APNs that answered in 100 ms took 7 to 11 s with 100 slots, and 4 to 6 s with 500.
 */
export const MAX_IN_FLIGHT: Readonly<Record<Platform, number>> = { android: 100, ios: 500, webpush: 500 }

/**
 * After all slots were taken, this many have to be free, or this many milliseconds have to pass after the first became
 * free, before devices are claimed again. Devices that are claimed and sent together are mostly answered together,
 * which costs a third less CPU than one by one. A quarter of the 500 slots of APNs would be free too seldom: a fifth
 * fewer pushes a second.
 */
const ENOUGH_SLOTS = 25
const GATHER_MS = 10

interface SendSlotsParts {
  readonly platform: Platform
  /** Slots are free for another claim. */
  readonly onFree: () => void
  readonly clock: Pick<Clock, 'after'>
}

/**
 * Limits the notifications in flight to the gateway of one platform. Each claimed device takes a slot until its
 * notification is answered.
 *
 * - *Open*: a slot that is released is free at once.
 * - *Gathering*, once all slots are taken: released slots count as free only when there are 25 of them, or 10 ms after
 *   the first. Then the slots are open again.
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

  /** How many devices may be claimed now. */
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
