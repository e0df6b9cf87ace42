/** Time as the sidecar sees it: everything that waits or stamps gets one, so that tests can turn it by hand. */
export interface Clock {
  /** Wall-clock time in whole milliseconds since 1970; may step backwards. */
  now(): number
  /** Calls `task` once, `delayMs` from now. Does not keep the process alive by itself. */
  after(delayMs: number, task: () => void): Timer
}

/** A task that {@link Clock.after} has planned. Cancelling twice, or after it ran, does nothing. */
export interface Timer {
  cancel(): void
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: Date.now,
  after(delayMs, task) {
    const handle = setTimeout(task, delayMs).unref()
    return { cancel: () => clearTimeout(handle) }
  },
}
