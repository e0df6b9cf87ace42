/** Time as the sidecar sees it: everything that waits or stamps gets one, so that tests can turn it by hand. */
export interface Clock {
  /**
   * Wall-clock time in whole milliseconds since 1970; may step backwards, and by decades forwards: a machine without a
   * battery clock starts in 1970, or when it was last switched off. For what people, files and other machines are told,
   * never for how long something took.
   */
  now(): number
  /**
   * Milliseconds that have passed since some moment before the start; never steps. For how long something took, or may
   * take.
   */
  elapsed(): number
  /** Calls `task` once, `delayMs` of elapsed time from now. Does not keep the process alive by itself. */
  after(delayMs: number, task: () => void): Timer
}

/** A task that {@link Clock.after} has planned. Cancelling twice, or after it ran, does nothing. */
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

/** What did not settle in time. */
export class TimeLimitError extends Error {
  constructor(limitMs: number) {
    super(`No result within ${limitMs} ms.`)
    this.name = 'TimeLimitError'
  }
}

/**
 * `work`'s result, or a {@link TimeLimitError} after `limitMs` milliseconds. What `work` does later is nobody's
 * concern.
 */
export function within<T>(limitMs: number, work: Promise<T>, clock: Clock): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(limitMs, () => reject(new TimeLimitError(limitMs)))
    work.then(resolve, reject).finally(() => timer.cancel())
  })
}
