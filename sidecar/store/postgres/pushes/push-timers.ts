import type { Clock, Timer } from '../../../clock.ts'

/** What others left, and did not tell of: windows that they did not live to end, leases that nobody settled. */
const ASK_EVERY_MS = 1000
/** What is due within it rings once, at its end: each ring costs a statement. */
const GRAIN_MS = 50

/** Rings when something may be due. */
export interface PushTimers {
  /** Rings in `delayMs`, or a little later. */
  ring(delayMs: number): void
  onRing(listener: () => void): void
  close(): void
}

/** Rings each second too, once somebody listens, and for each listener at its beginning. */
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
    const at = Math.ceil((clock.elapsed() + delayMs) / GRAIN_MS) * GRAIN_MS
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
