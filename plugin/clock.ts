/** The clock of every part that waits or notes a time. Tests replace it by one that they move. */
export interface Clock {
  /** Wall-clock time in milliseconds since 1970, which may step either way. For tokens, users and other machines. */
  now(): number
  /** Milliseconds since some moment before the start. Never steps, so it serves to measure and limit durations. */
  elapsed(): number
  /** Calls `task` once, after `delayMs` of elapsed time. Does not keep the process alive. */
  after(delayMs: number, task: () => unknown): Timer
}

/** A task that {@link Clock.after} scheduled. `cancel` has no effect after the task ran, and is idempotent. */
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

/**
 * Returns a signal that aborts after `totalMs`, or with the caller's signal. Cheaper than `AbortSignal.timeout`, whose
 * timer cannot be cleared when the answer arrives.
 */
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

/** Resolves to whether `work` is still unsettled after `limitMs`. The work continues in any case. Never rejects. */
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
