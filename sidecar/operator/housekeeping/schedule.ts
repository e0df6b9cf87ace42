import { createTask, type ScheduledTask } from 'node-cron'
import type { Clock } from '../../clock.ts'

/**
 * Every hour: expiry is configured in hours, and SQLite checkpoints its log by itself, so more often brings nothing. At
 * 17 minutes past the hour, neither the machine's hourly jobs nor phones that wake on the hour are busy.
 */
export const HOURLY = '17 * * * *'

const MINUTE_MS = 60_000

/** Checks are a minute apart. A larger gap, in either direction, means that the clock leapt or the machine slept. */
const USUAL_MINUTES = 5

/**
 * Calls `task`, which never rejects, in each minute that the cron expression `when` matches (five fields, local time).
 * Never runs it twice at a time. Closing lets a running task finish. Minutes that a leap of the clock or the machine's
 * sleep skipped are not made up for; afterwards the schedule continues as after a start.
 */
export function runOnSchedule(
  task: () => Promise<void>,
  clock: Clock,
  when: string = HOURLY,
): { close(): Promise<void> } {
  // Used only to match times. With its own timer it would wait for the old time when the clock is set back. When the
  // clock goes from 1970 to now, it would count each missed run, which takes 20 s and 300 MB for hours, and sixty times
  // that for minutes. Created by the first check, to keep the start short.
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
 * Returns the minutes since the last check, including those that a busy process missed. Returns none while a clock that
 * was set back by some minutes has not caught up, and only the present minute after a leap. Minutes count from 1970.
 */
function minutesToCheck(lastMinute: number, present: number): readonly number[] {
  const passed = present - lastMinute
  if (Math.abs(passed) > USUAL_MINUTES) return [present]
  return Array.from({ length: Math.max(0, passed) }, (_, index) => lastMinute + 1 + index)
}
