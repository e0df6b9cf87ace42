import type { Queries } from '../database/connection.ts'

/** Rows of `dropped`, as many as the SQLite store keeps. Above that, the oldest are deleted. */
const MAX_DROPPED = 100_000
/** How many messages are stored, or acks granted, between two deletions. */
const DELETE_EVERY = 1000
const MINUTE_MS = 60_000

const BOUND_DROPPED = `DELETE FROM dropped WHERE id <= (SELECT max(id) FROM dropped) - ${MAX_DROPPED}`
// Skips rows that another statement is about to write. A statement that waits for several rows may wait for this one,
// never the other way round.
const FORGET_ACKS = `
  DELETE FROM ack_sent WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM ack_sent WHERE abs(now_ms() - at) >= $1 FOR UPDATE SKIP LOCKED))`

/** Bounds the rows that a flood leaves; housekeeping runs only once an hour. */
export interface Bounds {
  /** Counts stored messages and granted acks. After many of them, deletes old rows. */
  count(stored: number, acks: number): void
}

/** `ackMs`: for how long an ack prevents another for the same message. */
export function openBounds({ query }: Queries, ackMs: number): Bounds {
  let stored = 0
  let acks = 0

  // If a deletion fails, the next one deletes those rows too.
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
