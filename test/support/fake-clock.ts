import type { Clock, Timer } from '../../sidecar/clock.ts'

interface Task {
  readonly delayMs: number
  readonly dueAt: number
  readonly run: () => void
}

/**
 * A clock that a test turns by hand. Timers follow elapsed time, as a machine's do: {@link FakeClock.set} moves the
 * wall clock, backwards too, without making anything due.
 */
export class FakeClock implements Clock {
  #wall: number
  #elapsed = 0
  // In the order of planning, which decides between tasks that are due at the same time.
  readonly #tasks = new Set<Task>()

  /** `startMs` is the first wall-clock time, in milliseconds since 1970. */
  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#wall = startMs
  }

  /** In whole milliseconds, like the machine's, even where a timer fell due between two of them. */
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

  /** How many tasks are planned and neither run nor cancelled. */
  get pending(): number {
    return this.#tasks.size
  }

  /** How many of them were planned with exactly this delay. */
  waiting(delayMs: number): number {
    return [...this.#tasks].filter((task) => task.delayMs === delayMs).length
  }

  /** Steps the wall clock to `ms`, as an administrator or NTP does. */
  set(ms: number): void {
    this.#wall = ms
  }

  /**
   * Lets `ms` milliseconds pass: what falls due runs in time order, tasks planned meanwhile included, and after each
   * one the promises that it settled get their turn. Real I/O is not waited for.
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

// A macrotask comes after every microtask, so chains of promises of any length are through.
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
