import type { Queries } from '../database/connection.ts'

/** Limit of rows in the table `dropped`, as in the SQLite store. Beyond it, the oldest rows are deleted. */
const MAX_DROPPED = 100_000
/** Number of stored messages, or of granted acks, after which old rows are deleted. */
const DELETE_EVERY = 1000
const MINUTE_MS = 60_000

const BOUND_DROPPED = `DELETE FROM dropped WHERE id <= (SELECT max(id) FROM dropped) - ${MAX_DROPPED}`
// Skips rows that another statement has locked. So this statement never waits for another, and no deadlock is possible.
const FORGET_ACKS = `
  DELETE FROM ack_sent WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM ack_sent WHERE abs(now_ms() - at) >= $1 FOR UPDATE SKIP LOCKED))`

/** Limits how many rows a flood of messages leaves in the tables, because housekeeping runs only once an hour. */
export interface Bounds {
  /** Counts stored messages and granted acks. After many of them, deletes old rows. */
  count(stored: number, acks: number): void
}

/**
 * Starts counting stored messages and granted acks. `ackMs`: milliseconds for which an ack prevents another ack of the
 * same message.
 */
export function openBounds({ query }: Queries, ackMs: number): Bounds {
  let stored = 0
  let acks = 0

  // Errors are ignored, because the next deletion includes the rows that a failed deletion left.
  const run = (text: string, ...values: readonly number[]) => void query(text, values).catch(() => undefined)

  return {
    count(moreStored, moreAcks) {
      stored += moreStored
      acks += moreAcks
      if (stored >= DELETE_EVERY) {
        stored = 0
        run(BOUND_DROPPED)
      }
      if (acks >= DELETE_EVERY) {
        acks = 0
        run(FORGET_ACKS, Math.max(ackMs, MINUTE_MS))
      }
    },
  }
}
