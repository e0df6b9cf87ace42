/** The clock of every part that waits or records a time. Tests replace it with a clock that they control. */
export interface Clock {
  /**
   * The wall-clock time in milliseconds since 1970. It may jump in either direction. Use it for tokens, users and other
   * machines.
   */
  now(): number
  /** The time in milliseconds since an arbitrary moment. It never jumps. Use it to measure and limit durations. */
  elapsed(): number
  /** Calls `task` once, after `delayMs` of elapsed time. Does not keep the process alive. */
  after(delayMs: number, task: () => unknown): Timer
}

/** A task that {@link Clock.after} scheduled. `cancel` is idempotent, and has no effect after the task ran. */
export interface Timer {
  cancel(): void
}

/** The clock of this machine. */
export const systemClock: Clock = {
  now: Date.now,
  elapsed: () => performance.now(),
  after(delayMs, task) {
    const handle = setTimeout(task, delayMs).unref()
    return { cancel: () => clearTimeout(handle) }
  },
}

/** Like `AbortSignal.timeout`, but with a timer that `clear` cancels. Also aborts with the caller's signal. */
export function deadlineSignal(
  clock: Clock,
  totalMs: number,
  callerSignal?: AbortSignal,
): { readonly signal: AbortSignal; readonly clear: () => void } {
  const deadline = new AbortController()
  const timer = clock.after(totalMs, () => deadline.abort(new DOMException('No answer in time', 'TimeoutError')))
  return {
    signal: callerSignal ? AbortSignal.any([deadline.signal, callerSignal]) : deadline.signal,
    clear: () => timer.cancel(),
  }
}

/**
 * Resolves to true if `work` is still pending after `limitMs`, otherwise to false. Does not stop the work. Never
 * rejects.
 */
export function isLate(clock: Clock, work: Promise<unknown>, limitMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = clock.after(limitMs, () => resolve(true))
    const inTime = () => {
      timer.cancel()
      resolve(false)
    }
    work.then(inTime, inTime)
  })
}
