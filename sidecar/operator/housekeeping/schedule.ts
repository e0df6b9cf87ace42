import { createTask, type ScheduledTask } from 'node-cron'
import type { Clock } from '../../clock.ts'

/**
 * Cron expression for every hour. Expiry is configured in hours, and SQLite checkpoints its log by itself, so more
 * frequent runs bring nothing. At 17 minutes past the hour, neither hourly jobs of the machine nor phones that wake on
 * the hour are busy.
 */
export const HOURLY = '17 * * * *'

const MINUTE_MS = 60_000

/**
 * The schedule is checked every minute. A larger gap, in either direction, means that the clock leapt or the machine
 * slept.
 */
const USUAL_MINUTES = 5

/**
 * Calls `task`, which never rejects, in each minute that the cron expression `when` matches (five fields, local time).
 * Never runs it twice at the same time. `close` lets a running task finish. If the clock leaps or the machine sleeps,
 * the skipped minutes are not made up for.
 */
export function runOnSchedule(
  task: () => Promise<void>,
  clock: Clock,
  when: string = HOURLY,
): { close(): Promise<void> } {
  // The package `node-cron` is used only to match times. With its own timer, it would wait for the old time when the
  // clock is set back. When the clock goes from 1970 to now, it would count each missed run. For hourly runs, that
  // takes 20 s and 300 MB; for runs each minute, sixty times as much. It is created at the first check, to keep the
  // start short.
  let cron: ScheduledTask | undefined
  let lastMinute = minuteOf(clock.now())
  let running = false
  let timer = clock.after(untilNextMinute(clock.now()), check)

  function check(): void {
    const now = clock.now()
    timer = clock.after(untilNextMinute(now), check)
    const minutes = minutesToCheck(lastMinute, minuteOf(now))
    lastMinute = minutes.at(-1) ?? lastMinute
    if (running || !minutes.some(isDue)) return
    running = true
    void task().finally(() => {
      running = false
    })
  }

  function isDue(minute: number): boolean {
    cron ??= createTask(when, () => {})
    return cron.match(new Date(minute * MINUTE_MS))
  }

  return {
    async close() {
      timer.cancel()
      await cron?.destroy()
    },
  }
}

function minuteOf(ms: number): number {
  return Math.floor(ms / MINUTE_MS)
}

function untilNextMinute(now: number): number {
  return (minuteOf(now) + 1) * MINUTE_MS - now
}

/**
 * Returns the minutes since the last check, counted from 1970, including those that a busy process missed. Returns none
 * while the clock, after it was set back by some minutes, has not caught up. Returns only the present minute after a
 * leap.
 */
function minutesToCheck(lastMinute: number, present: number): readonly number[] {
  const passed = present - lastMinute
  if (Math.abs(passed) > USUAL_MINUTES) return [present]
  return Array.from({ length: Math.max(0, passed) }, (_, index) => lastMinute + 1 + index)
}
