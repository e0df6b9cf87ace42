import type { Clock, Timer } from '../../../clock.ts'

/** For rows that other instances left: windows of instances that ended, and leases that were not settled. */
const ASK_EVERY_MS = 1000
/** Rows that are due within this time share a ring at its end, because each ring costs a statement. */
const GRAIN_MS = 50

/** Rings when a row may be due. */
export interface PushTimers {
  /** Rings in `delayMs`, or a little later. */
  ring(delayMs: number): void
  onRing(listener: () => void): void
  close(): void
}

/** Opens the timers. Once there is a listener, they also ring each second, and for each listener when it is added. */
export function openPushTimers(clock: Clock): PushTimers {
  const timers = new Map<number, Timer>()
  const listeners: (() => void)[] = []
  let every: Timer | undefined
  let isClosed = false

  const notify = () => {
    for (const listener of listeners) listener()
  }

  function ring(delayMs: number): void {
    if (isClosed) return
    const time = Math.ceil((clock.elapsed() + delayMs) / GRAIN_MS) * GRAIN_MS
    if (timers.has(time)) return
    timers.set(
      time,
      clock.after(time - clock.elapsed(), () => {
        timers.delete(time)
        notify()
      }),
    )
  }

  function ask(): void {
    every = clock.after(ASK_EVERY_MS, () => {
      ask()
      notify()
    })
  }

  return {
    ring,
    onRing(listener) {
      listeners.push(listener)
      if (!every && !isClosed) ask()
      ring(0)
    },
    close() {
      isClosed = true
      every?.cancel()
      for (const timer of timers.values()) timer.cancel()
      timers.clear()
    },
  }
}
