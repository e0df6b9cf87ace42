/**
 * Tells the time and starts timers. Code that needs the time takes a clock as an argument, so that tests can control
 * it.
 */
export interface Clock {
  /**
   * Wall-clock time in whole milliseconds since 1970. Not for durations: it may step back, or ahead by decades if a
   * machine without a battery clock started in 1970.
   */
  now(): number
  /**
   * Milliseconds since an arbitrary moment before the start, for durations and time limits. It never steps backwards or
   * forwards.
   */
  elapsed(): number
  /** Calls `task` once, after `delayMs` milliseconds. The timer does not keep the process alive. */
  after(delayMs: number, task: () => void): Timer
}

/** A task that {@link Clock.after} will call. `cancel` is idempotent, and has no effect after the task ran. */
export interface Timer {
  cancel(): void
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: Date.now,
  elapsed: () => performance.now(),
  after(delayMs, task) {
    const handle = setTimeout(task, delayMs).unref()
    return { cancel: () => clearTimeout(handle) }
  },
}

/** The error of {@link within} for work that does not settle in time. */
export class TimeLimitError extends Error {
  constructor(limitMs: number) {
    super(`No result within ${limitMs} ms.`)
    this.name = 'TimeLimitError'
  }
}

/**
 * Settles like `work`, or rejects with a {@link TimeLimitError} after `limitMs` milliseconds. A later outcome of `work`
 * is ignored.
 */
export function within<T>(limitMs: number, work: Promise<T>, clock: Clock): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(limitMs, () => reject(new TimeLimitError(limitMs)))
    work.then(resolve, reject).finally(() => timer.cancel())
  })
}
