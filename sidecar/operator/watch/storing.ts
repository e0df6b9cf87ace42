import type { Clock, Timer } from '../../clock.ts'
import type { History, Store } from '../../messages/store.ts'

/** Watches whether messages are stored. `append` calls that of the history and observes its outcome. */
export interface Storing extends Pick<History, 'append'> {
  /**
   * Returns a problem that the store itself does not report: messages were lost, or a message has waited for too long.
   */
  problems(): readonly 'messages_not_stored'[]
  close(): Promise<void>
}

/** Milliseconds after which a message that still waits counts as lost, because its sender got no ack. */
const LATE_MS = 5000
const RETRY_MS = 1000

/**
 * Creates a watch. A loss is a problem until a message is stored or a test write succeeds. Test writes run each second.
 */
export function watchStoring(store: Pick<Store, 'history' | 'fault' | 'probe'>, clock: Clock): Storing {
  // The messages that wait to be stored, oldest first.
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
