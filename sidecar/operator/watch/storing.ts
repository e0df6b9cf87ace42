import type { Clock, Timer } from '../../clock.ts'
import type { History, Store } from '../../messages/store.ts'

/** Watches whether messages are stored. Its `append` calls {@link History.append} and observes the outcome. */
export interface Storing extends Pick<History, 'append'> {
  /**
   * Returns `messages_not_stored` if messages were lost, or wait for too long, and the store itself reports no fault.
   */
  problems(): readonly 'messages_not_stored'[]
  close(): Promise<void>
}

/** A message that waits for longer than this, in milliseconds, is a problem, because its sender has got no ack. */
const LATE_MS = 5000
/** Interval of the test writes after a lost message. */
const RETRY_MS = 1000

/** Watches the storing of messages. Reports a lost message until one is stored or a test write succeeds. */
export function watchStoring(store: Pick<Store, 'history' | 'fault' | 'probe'>, clock: Clock): Storing {
  // The calls of `append` that are not settled yet, oldest first.
  const waiting = new Set<{ readonly since: number }>()
  let isLosing = false
  let retry: Timer | undefined
  let isClosed = false

  function stored(): void {
    isLosing = false
    retry?.cancel()
    retry = undefined
  }

  function lost(): void {
    isLosing = true
    if (!isClosed) retry ??= clock.after(RETRY_MS, () => void tryAgain())
  }

  async function tryAgain(): Promise<void> {
    await store.probe()
    retry = undefined
    if (store.fault() === undefined) stored()
    else lost()
  }

  function isLate(): boolean {
    const [oldest] = waiting
    return oldest !== undefined && clock.elapsed() - oldest.since > LATE_MS
  }

  return {
    async append(messages, mayAck) {
      const entry = { since: clock.elapsed() }
      waiting.add(entry)
      try {
        const outcomes = await store.history.append(messages, mayAck)
        stored()
        return outcomes
      } catch (error) {
        lost()
        throw error
      } finally {
        waiting.delete(entry)
      }
    },
    problems: () => (store.fault() === undefined && (isLosing || isLate()) ? ['messages_not_stored'] : []),
    async close() {
      isClosed = true
      retry?.cancel()
    },
  }
}
