/** Since when one station's phone has been waiting to be told, in elapsed milliseconds. */
export interface Waiting {
  /** A message came in at `at`. */
  arrived(at: number): void
  /** What has arrived so far is being sent. */
  sending(): void
  /** What was being sent is settled; gives when the oldest of it arrived, undefined when nobody said so. */
  settled(): number | undefined
}

/** Tells messages that a notification was made of from those that came while it was under way. */
export function trackWaiting(): Waiting {
  let arrived: number | undefined
  let sent: number | undefined
  return {
    arrived(at) {
      arrived = Math.min(arrived ?? at, at)
    },
    sending() {
      sent ??= arrived
      arrived = undefined
    },
    settled() {
      const oldest = sent
      sent = undefined
      return oldest
    },
  }
}
