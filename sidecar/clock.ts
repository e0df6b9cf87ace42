/** Tells the time and starts timers. All code that uses time is given a clock, so that tests can control it. */
export interface Clock {
  /**
   * Wall-clock time in whole milliseconds since 1970. It may step backwards, and forwards by decades, because a machine
   * without a battery clock starts in 1970 or at its last shutdown. For people, files and other machines; never for
   * durations.
   */
  now(): number
  /**
   * Milliseconds since an arbitrary moment before the start. Never steps. For durations and time limits.
   */
  elapsed(): number
  /** Calls `task` once, `delayMs` of elapsed time from now. Does not keep the process alive by itself. */
  after(delayMs: number, task: () => void): Timer
}

/** A task planned by {@link Clock.after}. Cancelling is idempotent, and has no effect after the task ran. */
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
 * Settles like `work`, or rejects with a {@link TimeLimitError} after `limitMs` milliseconds. The outcome of `work` is
 * ignored after that.
 */
export function within<T>(limitMs: number, work: Promise<T>, clock: Clock): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(limitMs, () => reject(new TimeLimitError(limitMs)))
    work.then(resolve, reject).finally(() => timer.cancel())
  })
}
