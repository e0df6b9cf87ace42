import type { Clock, Timer } from '../../clock.ts'
import type { History, Store } from '../../messages/store.ts'

/** Watches from the outside whether messages are stored: `append` is the store's, watched. */
export interface Storing extends Pick<History, 'append'> {
  /** What the store itself does not say: messages were lost, whatever for, or one has been waiting for long. */
  problems(): readonly 'messages_not_stored'[]
  close(): Promise<void>
}

/** A message that waits for longer is as good as lost: its sender has heard of no ack. */
const LATE_MS = 5000
const TRY_MS = 1000

/** What was lost counts until a message is stored, or a write like it (`probe`) works, which is tried each second. */
export function watchStoring(store: Pick<Store, 'history' | 'fault' | 'probe'>, clock: Clock): Storing {
  // The oldest first.
  const waiting = new Set<{ readonly since: number }>()
  let losing = false
  let trying: Timer | undefined
  let closed = false

  function stored(): void {
    losing = false
    trying?.cancel()
    trying = undefined
  }

  function lost(): void {
    losing = true
    if (!closed) trying ??= clock.after(TRY_MS, () => void tryAgain())
  }

  async function tryAgain(): Promise<void> {
    await store.probe()
    trying = undefined
    if (store.fault() === undefined) stored()
    else lost()
  }

  function isLate(): boolean {
    const [oldest] = waiting
    return oldest !== undefined && clock.elapsed() - oldest.since > LATE_MS
  }

  return {
    async append(messages, mayAck) {
      const one = { since: clock.elapsed() }
      waiting.add(one)
      try {
        const outcomes = await store.history.append(messages, mayAck)
        stored()
        return outcomes
      } catch (error) {
        lost()
        throw error
      } finally {
        waiting.delete(one)
      }
    },
    problems: () => (store.fault() === undefined && (losing || isLate()) ? ['messages_not_stored'] : []),
    async close() {
      closed = true
      trying?.cancel()
    },
  }
}
