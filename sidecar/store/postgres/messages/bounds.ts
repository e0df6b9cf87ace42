import type { Queries } from '../database/connection.ts'

/** Rows of `dropped`: as many as SQLite's store keeps. Beyond it the oldest go. */
const MOST_DROPPED = 100_000
/** How many messages are stored, or acks granted, between two looks at what that leaves. */
const LOOK_EVERY = 1000
const MINUTE_MS = 60_000

const BOUND_DROPPED = `DELETE FROM dropped WHERE id <= (SELECT max(id) FROM dropped) - ${MOST_DROPPED}`
// Leaves alone what somebody is about to write: whoever waits for several of these rows may wait for this statement,
// never the other way round.
const FORGET_ACKS = `
  DELETE FROM ack_sent WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM ack_sent WHERE abs(now_ms() - at) >= $1 FOR UPDATE SKIP LOCKED))`

/** Bounds what a flood leaves behind; housekeeping comes once an hour. */
export interface Bounds {
  /** So many more were stored and granted. */
  count(stored: number, acks: number): void
}

/** `ackMs`: for how long an ack keeps back another for the same message. */
export function openBounds({ query }: Queries, ackMs: number): Bounds {
  let stored = 0
  let acks = 0

  // What fails now is done the next time.
  const run = (text: string, ...values: readonly number[]) => void query(text, values).catch(() => undefined)

  return {
    count(moreStored, moreAcks) {
      stored += moreStored
      acks += moreAcks
      if (stored >= LOOK_EVERY) {
        stored = 0
        run(BOUND_DROPPED)
      }
      if (acks >= LOOK_EVERY) {
        acks = 0
        run(FORGET_ACKS, Math.max(ackMs, MINUTE_MS))
      }
    },
  }
}
