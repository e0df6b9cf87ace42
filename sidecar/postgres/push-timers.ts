import type { Clock, Timer } from '../clock.ts'

/** What others left, and did not tell of: windows that they did not live to end, leases that nobody settled. */
const ASK_EVERY_MS = 1000

/** Rings when something may be due. */
export interface PushTimers {
  /** Rings in `delayMs`. */
  ring(delayMs: number): void
  onRing(listener: () => void): void
  close(): void
}

/** Rings each second too, and for each listener once at its beginning. One timer for all that is due in the same millisecond. */
export function openPushTimers(clock: Clock): PushTimers {
  const timers = new Map<number, Timer>()
  const listeners: (() => void)[] = []
  let every: Timer | undefined
  let closed = false

  const tell = () => {
    for (const listener of listeners) listener()
  }

  function ring(delayMs: number): void {
    if (closed) return
    const at = Math.ceil(clock.elapsed() + delayMs)
    if (timers.has(at)) return
    timers.set(
      at,
      clock.after(at - clock.elapsed(), () => {
        timers.delete(at)
        tell()
      }),
    )
  }

  function ask(): void {
    every = clock.after(ASK_EVERY_MS, () => {
      ask()
      tell()
    })
  }

  return {
    ring,
    onRing(listener) {
      listeners.push(listener)
      if (!every && !closed) ask()
      ring(0)
    },
    close() {
      closed = true
      every?.cancel()
      for (const timer of timers.values()) timer.cancel()
      timers.clear()
    },
  }
}
