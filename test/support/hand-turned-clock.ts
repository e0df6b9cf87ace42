import type { Timer } from '../../plugin/clock.ts'
import { FakeClock } from './fake-clock.ts'

/**
 * A clock for whole logins. Its wall clock is the machine's, by which a provider stamps its tokens, ahead by what it was turned; timers and
 * elapsed time go by hand alone, so that no limit passes while requests are under way.
 */
export class HandTurnedClock extends FakeClock {
  readonly #waits = new Set<{ readonly delayMs: number }>()

  override now(): number {
    return Date.now() + Math.floor(this.elapsed())
  }

  override after(delayMs: number, task: () => void): Timer {
    const wait = { delayMs }
    this.#waits.add(wait)
    const timer = super.after(delayMs, () => {
      this.#waits.delete(wait)
      task()
    })
    return {
      cancel: () => {
        this.#waits.delete(wait)
        timer.cancel()
      },
    }
  }

  /** How many tasks wait that were planned with exactly this delay. */
  waiting(delayMs: number): number {
    return [...this.#waits].filter((wait) => wait.delayMs === delayMs).length
  }

  /** Once a task waits that was planned with exactly this delay: lets that time pass. */
  async pass(delayMs: number): Promise<void> {
    while (this.waiting(delayMs) === 0) await new Promise(setImmediate)
    await this.advance(delayMs)
  }
}
