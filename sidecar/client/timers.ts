/** The clock and timers that the client uses. */
export interface Timers {
  /** Returns milliseconds since 1970. */
  now(): number
  /** Calls `task` once, after `delayMs` milliseconds. */
  after(delayMs: number, task: () => void): { cancel(): void }
}

/** The platform's timers. */
export const platformTimers: Timers = {
  now: () => Date.now(),
  after(delayMs, task) {
    const handle = setTimeout(task, delayMs)
    return { cancel: () => clearTimeout(handle) }
  },
}
