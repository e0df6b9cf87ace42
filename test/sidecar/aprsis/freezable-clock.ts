import type { Clock, Timer } from '../../../sidecar/clock.ts'

/** The clock of a process that can be stopped and let go on: time passes meanwhile, and what fell due runs when it is back. */
export class FreezableClock implements Clock {
  readonly #clock: Clock
  #frozen = false
  #due: { run: () => void; cancelled: boolean }[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now(): number {
    return this.#clock.now()
  }

  elapsed(): number {
    return this.#clock.elapsed()
  }

  after(delayMs: number, task: () => void): Timer {
    const planned = { run: task, cancelled: false }
    const timer = this.#clock.after(delayMs, () => {
      if (this.#frozen) this.#due.push(planned)
      else task()
    })
    return {
      cancel: () => {
        planned.cancelled = true
        timer.cancel()
      },
    }
  }

  freeze(): void {
    this.#frozen = true
  }

  thaw(): void {
    this.#frozen = false
    const due = this.#due
    this.#due = []
    for (const one of due) if (!one.cancelled) one.run()
  }
}
