import { createTask, type ScheduledTask } from 'node-cron'
import type { Clock } from '../../clock.ts'

/**
 * Cron expression for every hour. More frequent runs have no benefit, because expiry is configured in hours and SQLite
 * checkpoints its log by itself. The minute 17 avoids the load of hourly jobs of the machine, and of phones that wake
 * on the hour.
 */
export const HOURLY = '17 * * * *'

const MINUTE_MS = 60_000

/**
 * The schedule is checked every minute. If the clock moves by more than this between two checks, in either direction,
 * it was set or the machine slept.
 */
const USUAL_MINUTES = 5

/**
 * Calls `task` in each minute that the cron expression `when` matches (five fields, local time). `task` must not
 * reject, and never runs twice at the same time. `close` does not end a running task. Minutes that are skipped because
 * the clock was set or the machine slept are not made up for.
 */
export function runOnSchedule(
  task: () => Promise<void>,
  clock: Clock,
  when: string = HOURLY,
): { close(): Promise<void> } {
  // The package `node-cron` only matches times here. After the clock was set back, its own timer would not run the task
  // until the old time. When the clock is set from 1970 to now, it would iterate over each missed run, which takes 20 s
  // and 300 MB for hourly runs. The task object is created at the first check, to keep the start short.
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
 * Returns the minutes for which the schedule was not checked yet, as numbers since 1970. They include minutes that a
 * busy process missed. After the clock was set back by a few minutes, returns none until it reaches the last checked
 * minute again. After a larger change of the clock, returns only the present minute.
 */
function minutesToCheck(lastMinute: number, present: number): readonly number[] {
  const passed = present - lastMinute
  if (Math.abs(passed) > USUAL_MINUTES) return [present]
  return Array.from({ length: Math.max(0, passed) }, (_, index) => lastMinute + 1 + index)
}
