import { FakeClock } from './fake-clock.ts'

/**
 * A clock for whole logins. Its wall clock is the machine's, by which a provider stamps its tokens, ahead by what it
 * was turned; timers and elapsed time go by hand alone, so that no limit passes while requests are under way.
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
