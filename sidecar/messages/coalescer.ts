import type { Clock, Timer } from '../clock.ts'

/** Folds the messages that a station gets within a window into one push. */
export interface Coalescer {
  /** Something new was stored for the station; it came in at `arrivedAt`, in elapsed milliseconds, now where that is absent. */
  notify(key: string, arrivedAt?: number): void
  /**
   * Cancels what is due (the database knows what was not pushed, and the next start takes it up) and waits for the
   * pushes under way. May be called twice.
   */
  close(): Promise<void>
}

interface CoalescerParts {
  /** From the first message to the push; later messages do not prolong it. */
  readonly coalesceMs: number
  readonly clock: Clock
  /**
   * Pushes whatever is unpushed for the station by then, the oldest of which came in at `arrivedAt`. Settles within a bounded time and
   * reports its own failures.
   */
  readonly push: (key: string, arrivedAt: number) => Promise<void>
}

/** What goes on for one station; it has an entry only while there is something. */
interface Activity {
  /** When the oldest message came in that no push has taken yet, in elapsed milliseconds. */
  oldestAt: number | undefined
  window: Timer | undefined
  /** The window ended while the push before it was still under way. */
  due: boolean
  pushing: Promise<void> | undefined
}

/** Holds at most one entry per station, and runs at most one push per station at a time. */
export function createCoalescer({ coalesceMs, clock, push }: CoalescerParts): Coalescer {
  const activities = new Map<string, Activity>()
  let closed = false

  function windowEnded(key: string, activity: Activity): void {
    activity.window = undefined
    if (activity.pushing !== undefined) activity.due = true
    else startPush(key, activity)
  }

  function startPush(key: string, activity: Activity): void {
    activity.due = false
    const arrivedAt = activity.oldestAt ?? clock.elapsed()
    activity.oldestAt = undefined
    const ended = () => pushEnded(key, activity)
    activity.pushing = push(key, arrivedAt).then(ended, ended)
  }

  function pushEnded(key: string, activity: Activity): void {
    activity.pushing = undefined
    if (activity.due && !closed) startPush(key, activity)
    else if (!activity.window) activities.delete(key)
  }

  return {
    notify(key, arrivedAt = clock.elapsed()) {
      if (closed) return
      let activity = activities.get(key)
      if (!activity) {
        activity = { oldestAt: undefined, window: undefined, due: false, pushing: undefined }
        activities.set(key, activity)
      }
      activity.oldestAt ??= arrivedAt
      // A push that is due reads what is unpushed when it starts, so it covers this message too.
      if (activity.window || activity.due) return
      const opened = activity
      opened.window = clock.after(coalesceMs, () => windowEnded(key, opened))
    },
    async close() {
      closed = true
      for (const activity of activities.values()) {
        activity.window?.cancel()
        activity.window = undefined
      }
      await Promise.all([...activities.values()].map((activity) => activity.pushing))
    },
  }
}
