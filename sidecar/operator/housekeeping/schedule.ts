import { createTask, type ScheduledTask } from 'node-cron'
import type { Clock } from '../../clock.ts'

/**
 * Every hour: expiry is configured in hours, and SQLite moves its log into the file by itself before it gets large, so
 * that sooner brings nothing. At 17 minutes past, when neither hourly jobs of the machine nor phones that wake on the
 * hour are busy.
 */
export const HOURLY = '17 * * * *'

const MINUTE_MS = 60_000

/** Between two looks there is a minute. More than these, in either direction: the clock leapt, or the machine slept. */
const USUAL_MINUTES = 5

/**
 * Calls `task`, which never rejects, in each minute of the wall clock that the cron expression `when` (five fields,
 * local time) stands for, never twice at a time, until closed; a run under way goes on. What a leap of the clock, or
 * the machine's sleep, passes over is not made up for; after either the next time comes as if the sidecar had just been
 * started.
 */
export function runOnSchedule(
  task: () => Promise<void>,
  clock: Clock,
  when: string = HOURLY,
): { close(): Promise<void> } {
  // Only ever asked: by a timer of its own it waits for the old time when the clock is set back, and counts one by one
  // what it missed when the clock goes from 1970 to now, which takes 20 s and 300 MB for hours, and sixty times that
  // for minutes. Made by the first look: a start has better to do.
  let cron: ScheduledTask | undefined
  let looked = minuteOf(clock.now())
  let running = false
  let timer = clock.after(untilNextMinute(clock.now()), look)

  function look(): void {
    const now = clock.now()
    timer = clock.after(untilNextMinute(now), look)
    const minutes = minutesToJudge(looked, minuteOf(now))
    looked = minutes.at(-1) ?? looked
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
 * Those since the last look, which a busy process may have passed over; none while a clock that was put right by some
 * minutes has not come as far again; after a leap the present one alone. Minutes count from 1970.
 */
function minutesToJudge(looked: number, present: number): readonly number[] {
  const passed = present - looked
  if (Math.abs(passed) > USUAL_MINUTES) return [present]
  return Array.from({ length: Math.max(0, passed) }, (_, index) => looked + 1 + index)
}
