/** The client's clock. */
export interface Timers {
  /** Milliseconds since 1970. */
  now(): number
  /** Calls `task` once, in `delayMs` milliseconds. */
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
