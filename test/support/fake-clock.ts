import type { Clock, Timer } from '../../sidecar/clock.ts'

interface Task {
  readonly delayMs: number
  readonly dueAt: number
  readonly run: () => void
}

/**
 * A clock that a test controls. As on a real machine, timers follow elapsed time: {@link FakeClock.set} changes only
 * the wall clock, and no timer becomes due.
 */
export class FakeClock implements Clock {
  #wall: number
  #elapsed = 0
  // In the order in which they were scheduled. Tasks that are due at the same time run in this order.
  readonly #tasks = new Set<Task>()

  /** `startMs` is the first wall-clock time, in milliseconds since 1970. */
  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#wall = startMs
  }

  /** Returns whole milliseconds, like a real clock, even if a timer became due at a fraction of a millisecond. */
  now(): number {
    return Math.floor(this.#wall)
  }

  elapsed(): number {
    return this.#elapsed
  }

  after(delayMs: number, task: () => void): Timer {
    const planned: Task = { delayMs, dueAt: this.#elapsed + Math.max(0, delayMs), run: task }
    this.#tasks.add(planned)
    return { cancel: () => void this.#tasks.delete(planned) }
  }

  /** Number of scheduled tasks that have neither run nor been cancelled. */
  get pending(): number {
    return this.#tasks.size
  }

  /** Returns the number of pending tasks that were scheduled with exactly this delay. */
  waiting(delayMs: number): number {
    return [...this.#tasks].filter((task) => task.delayMs === delayMs).length
  }

  /** Sets the wall clock to `ms`, as an administrator or NTP may do. */
  set(ms: number): void {
    this.#wall = ms
  }

  /**
   * Lets `ms` milliseconds pass. Tasks that become due run in the order of their times, including tasks that are
   * scheduled meanwhile. After each task, it waits for the promises that the task settled, but not for real I/O.
   */
  async advance(ms: number): Promise<void> {
    const end = this.#elapsed + ms
    await settle()
    for (let next = this.#nextDue(end); next; next = this.#nextDue(end)) {
      this.#tasks.delete(next)
      this.#pass(next.dueAt - this.#elapsed)
      next.run()
      await settle()
    }
    this.#pass(end - this.#elapsed)
  }

  #pass(ms: number): void {
    this.#elapsed += ms
    this.#wall += ms
  }

  #nextDue(end: number): Task | undefined {
    let next: Task | undefined
    for (const task of this.#tasks) {
      if (task.dueAt <= end && (!next || task.dueAt < next.dueAt)) next = task
    }
    return next
  }
}

// A macrotask runs after all microtasks, so promise chains of any length are settled by then.
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
