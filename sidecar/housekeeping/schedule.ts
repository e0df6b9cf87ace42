import { schedule } from 'node-cron'

/**
 * Every hour: expiry is configured in hours, and SQLite moves its log into the file by itself before it gets large, so that
 * sooner brings nothing. At 17 minutes past, when neither hourly jobs of the machine nor phones that wake on the hour are busy.
 */
export const HOURLY = '17 * * * *'

/** Calls `task`, which never rejects, whenever the cron expression `when` says so, never twice at a time, until closed. */
export function runOnSchedule(task: () => Promise<void>, when: string = HOURLY): { close(): Promise<void> } {
  const silent = (): void => {}
  const job = schedule(when, task, {
    noOverlap: true,
    // Its own words would not keep the log's form; they are about runs missed while the machine slept.
    logger: { debug: silent, info: silent, warn: silent, error: silent },
    suppressMissedWarning: true,
    unref: true,
  })
  return { close: async () => void (await job.destroy()) }
}
