import type { Clock, Timer } from '../../../clock.ts'

/** Interval of polling for rows of other instances that stopped before a row was due or before they settled it. */
const ASK_EVERY_MS = 1000
/**
 * Queue rows that become due within this many milliseconds of each other share one timer, because each call of the
 * listeners costs an SQL statement.
 */
const GRAIN_MS = 50

/** Timers that call all listeners of the push queue when one of its rows may be due. */
export interface PushTimers {
  /** Schedules a call of all listeners in `delayMs`, or up to {@link GRAIN_MS} later. */
  ring(delayMs: number): void
  onRing(listener: () => void): void
  close(): void
}

/** Opens the timers of the push queue. They also call all listeners each second, and soon after a listener is added. */
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
