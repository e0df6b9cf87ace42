/** Time as the client sees it. */
export interface Timers {
  /** Milliseconds since 1970. */
  now(): number
  /** Calls `task` once, in `delayMs` milliseconds. */
  after(delayMs: number, task: () => void): { cancel(): void }
}

/** Those of the platform. */
export const platformTimers: Timers = {
  now: () => Date.now(),
  after(delayMs, task) {
    const handle = setTimeout(task, delayMs)
    return { cancel: () => clearTimeout(handle) }
  },
}
