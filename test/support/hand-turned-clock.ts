import { FakeClock } from './fake-clock.ts'

/**
 * A clock for whole logins. Its wall clock is the machine's, which the provider's tokens use, plus what a test adds.
 * Timers and elapsed time advance only when a test says so, so no limit passes while requests are pending.
 */
export class HandTurnedClock extends FakeClock {
  override now(): number {
    return Date.now() + Math.floor(this.elapsed())
  }

  /** Once a task waits that was planned with exactly this delay: lets that time pass. */
  async pass(delayMs: number): Promise<void> {
    while (this.waiting(delayMs) === 0) await new Promise(setImmediate)
    await this.advance(delayMs)
  }
}
