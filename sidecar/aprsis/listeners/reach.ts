import type { Clock } from '../../clock.ts'

/**
 * A listener that has had no login for this long gives its slot to an instance that may reach APRS-IS. Transient faults
 * are shorter.
 */
const DEAF_MS = 30_000

/**
 * How long such an instance does not try to listen again while other instances wait for a slot. Without this, instances
 * would pass the slot around while none of them reaches APRS-IS.
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

  /** Whether this listener has had no login for 30 s. Call in each round. `hasLogin`: whether it has a login now. */
  isDeaf(hasLogin: boolean): boolean {
    if (hasLogin) this.#withoutLoginSince = undefined
    else this.#withoutLoginSince ??= this.#clock.elapsed()
    return this.#withoutLoginSince !== undefined && this.#clock.elapsed() - this.#withoutLoginSince >= DEAF_MS
  }

  /** Whether the instance currently refrains from trying to listen. */
  get isResting(): boolean {
    return this.#clock.elapsed() < this.#restsUntil
  }

  rest(): void {
    this.#restsUntil = this.#clock.elapsed() + REST_MS
  }

  /** Call when the instance has just become a listener. */
  reset(): void {
    this.#withoutLoginSince = undefined
    this.#restsUntil = Number.NEGATIVE_INFINITY
  }
}
