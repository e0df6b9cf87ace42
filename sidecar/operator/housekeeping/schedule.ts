import { createTask, type ScheduledTask } from 'node-cron'
import type { Clock } from '../../clock.ts'

/**
 * Cron expression for every hour, as expiry is configured in hours. The minute 17 avoids the load of hourly jobs, and
 * of phones that wake on the hour.
 */
export const HOURLY = '17 * * * *'

const MINUTE_MS = 60_000

/**
 * The schedule is checked every minute. If the clock moves by more than this between two checks, in either direction,
 * it was set or the machine slept.
 */
const USUAL_MINUTES = 5

/**
 * Calls `task` in each minute that the cron expression `when` matches (five fields, local time), but never twice at
 * once. `task` must not reject. `close` does not end it. Minutes skipped by sleep or a set clock are not made up for.
 */
export function runOnSchedule(
  task: () => Promise<void>,
  clock: Clock,
  when: string = HOURLY,
): { close(): Promise<void> } {
  // `node-cron` only matches times. After the clock was set back, its own timer would pause until the old time. Set
  // ahead from 1970, it would iterate over each missed hour, in 20 s and 300 MB. Created at the first check, for a fast
  // start.
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
 * Returns the minutes to check, as numbers since 1970, including those that a busy process missed. None while a clock
 * set back a little catches up. After a larger change, only the present minute.
 */
function minutesToCheck(lastMinute: number, present: number): readonly number[] {
  const passed = present - lastMinute
  if (Math.abs(passed) > USUAL_MINUTES) return [present]
  return Array.from({ length: Math.max(0, passed) }, (_, index) => lastMinute + 1 + index)
}
