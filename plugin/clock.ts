/** Time as the plugin sees it: everything that waits or stamps gets one, so that tests can turn it by hand. */
export interface Clock {
  /**
   * Wall-clock time in milliseconds since 1970; may step either way. For what tokens, people and other machines are
   * told.
   */
  now(): number
  /**
   * Milliseconds that have passed since some moment before the start; never steps. For how long something took, or may
   * take.
   */
  elapsed(): number
  /** Calls `task` once, `delayMs` of elapsed time from now. Does not keep the process alive by itself. */
  after(delayMs: number, task: () => unknown): Timer
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

/**
 * Aborts when the time is up or the caller's own signal does. Cheaper than `AbortSignal.timeout`, and gone with the
 * answer.
 */
export function deadlineSignal(
  clock: Clock,
  totalMs: number,
  own?: AbortSignal,
): { readonly signal: AbortSignal; readonly clear: () => void } {
  const deadline = new AbortController()
  const timer = clock.after(totalMs, () => deadline.abort(new DOMException('No answer in time', 'TimeoutError')))
  return { signal: own ? AbortSignal.any([deadline.signal, own]) : deadline.signal, clear: () => timer.cancel() }
}

/** Whether something has not settled after that time; it goes on by itself. Never rejects. */
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
