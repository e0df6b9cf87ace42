import type { Clock } from '../../clock.ts'
import type { Log } from '../../log.ts'
import { afterDropMs, backoffMs } from './backoff.ts'
import { FLAPPING_DROPS, LIKELY_CAUSE_OF_FLAPPING, RecentDrops } from './recent-drops.ts'

interface OutagesParts {
  readonly callsign: string
  readonly clock: Pick<Clock, 'elapsed'>
  readonly log: Log
  /** Returns a random number from 0 to below 1. */
  readonly random: () => number
}

/**
 * Tracks the faults of one connection. Decides when to retry, and at which level each fault is logged.
 *
 * A *drop* is the end of an accepted login; a *failure* is a try without one. Both are counted until {@link recovered}.
 * A drop resets the number of failures, because the server was reachable. Three drops within 15 minutes are logged once
 * as flapping.
 */
export class Outages {
  readonly #parts: OutagesParts
  readonly #recentDrops = new RecentDrops()
  #failures = 0
  #drops = 0
  #flapping = false

  constructor(parts: OutagesParts) {
    this.#parts = parts
  }

  /** Whether the connection has had no fault since its last stable login. */
  get isStable(): boolean {
    return this.#failures === 0 && this.#drops === 0
  }

  /** Number of drops within the last 15 minutes, up to 20. */
  get recentDrops(): number {
    return this.#recentDrops.count(this.#parts.clock.elapsed())
  }

  /**
   * Whether the next login is logged at level info. After several drops, most logins are only logged at level debug.
   */
  get isLoginNotable(): boolean {
    return isPowerOfTwo(this.#drops)
  }

  /** Forgets all drops and failures. Call when a login has been stable for a minute. */
  recovered(): void {
    this.#failures = 0
    this.#drops = 0
  }

  /**
   * Counts a drop, and returns the milliseconds until the next login. `isReplaced`: another connection took the
   * callsign.
   */
  dropped(reason: string, isReplaced: boolean): number {
    const { callsign, log, random } = this.#parts
    this.#failures = 0
    this.#drops += 1
    if (!isReplaced) this.#watchFlapping(reason)
    const retryInMs = this.#drops === 1 ? backoffMs(1, random()) : afterDropMs(random())
    const report = isPowerOfTwo(this.#drops) && !isReplaced ? log.warn : log.debug
    report('upstream-down', 'The APRS-IS server ended the connection; the sidecar logs in again.', {
      call: callsign,
      reason,
      retryInMs,
      drops: this.#drops,
    })
    return retryInMs
  }

  /** Counts a failure and returns the delay before the next try in milliseconds. */
  failed(reason: string, wasLoggedIn: boolean): number {
    const { callsign, log, random } = this.#parts
    this.#failures += 1
    const retryInMs = backoffMs(this.#failures, random())
    // An outage is logged as a warning once, not at each try. If the lost login at its start was logged, the failures
    // that follow are logged at level debug.
    const isFirst = this.#failures === 1 && (this.#drops === 0 || !isPowerOfTwo(this.#drops))
    const report = wasLoggedIn || isFirst ? log.warn : log.debug
    report('upstream-down', 'The connection to APRS-IS failed; the sidecar tries again.', {
      call: callsign,
      reason,
      retryInMs,
      failures: this.#failures,
    })
    return retryInMs
  }

  #watchFlapping(reason: string): void {
    const { callsign, clock, log } = this.#parts
    this.#recentDrops.add(clock.elapsed())
    const drops = this.recentDrops
    if (drops >= FLAPPING_DROPS && !this.#flapping) {
      log.warn(
        'upstream-flaps',
        `APRS-IS ended the connection ${drops} times within 15 minutes. ${LIKELY_CAUSE_OF_FLAPPING}`,
        { call: callsign, reason, drops },
      )
    }
    this.#flapping = drops >= FLAPPING_DROPS
  }
}

/**
 * Returns true for 0, 1, 2, 4, 8 and so on. By this rule, a fault that repeats for hours is logged less and less often.
 */
function isPowerOfTwo(times: number): boolean {
  return times === 0 || Number.isInteger(Math.log2(times))
}
