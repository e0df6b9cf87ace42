import type { Clock } from '../../clock.ts'

/**
 * A listener without a login for this long gives up its slot, so that another instance can try. Most faults are
 * shorter.
 */
const DEAF_MS = 30_000

/**
 * How long an instance that gave up its slot leaves it to others on standby. Otherwise they would pass it around while
 * none reaches APRS-IS.
 */
const REST_MS = 600_000

/** Tracks whether this instance reaches APRS-IS, and whether it may try to become a listener. */
export class Reach {
  readonly #clock: Pick<Clock, 'elapsed'>
  #withoutLoginSince: number | undefined
  #restsUntil = Number.NEGATIVE_INFINITY

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock
  }

  /**
   * Whether this listener has had no APRS-IS login for 30 s. Call in each round of the election. `hasLogin`: whether it
   * has a login now.
   */
  isDeaf(hasLogin: boolean): boolean {
    if (hasLogin) this.#withoutLoginSince = undefined
    else this.#withoutLoginSince ??= this.#clock.elapsed()
    return this.#withoutLoginSince !== undefined && this.#clock.elapsed() - this.#withoutLoginSince >= DEAF_MS
  }

  /** Whether the instance currently does not try to lease a listener slot. */
  get isResting(): boolean {
    return this.#clock.elapsed() < this.#restsUntil
  }

  rest(): void {
    this.#restsUntil = this.#clock.elapsed() + REST_MS
  }

  /**
   * Resets the time without a login, and ends the waiting time after giving up a slot. Call when the instance has
   * become a listener.
   */
  reset(): void {
    this.#withoutLoginSince = undefined
    this.#restsUntil = Number.NEGATIVE_INFINITY
  }
}
