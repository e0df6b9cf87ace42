import { FakeClock } from './fake-clock.ts'

/**
 * A clock for tests of whole logins. Its wall clock is the machine's, which the provider's tokens use, plus the time
 * that a test adds. Timers and elapsed time advance only when a test advances them, so no time limit passes during a
 * request.
 */
export class HandTurnedClock extends FakeClock {
  override now(): number {
    return Date.now() + Math.floor(this.elapsed())
  }

  /** Waits until a task is scheduled with exactly this delay, and then lets that time pass. */
  async pass(delayMs: number): Promise<void> {
    while (this.waiting(delayMs) === 0) await new Promise(setImmediate)
    await this.advance(delayMs)
  }
}
