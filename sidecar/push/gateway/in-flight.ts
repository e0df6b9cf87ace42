import type { Clock } from '../../clock.ts'
import type { PushOutcome } from './gateway.ts'

/** Time limit of {@link PushGateway.send} in milliseconds. */
export const SEND_LIMIT_MS = 10_000

/** The notifications in flight to one gateway. Each has a time limit. */
export interface InFlight {
  /**
   * Sends a notification by `work`, and resolves with the outcome. After the time limit, calls `abandon` and resolves
   * with `try_later` instead.
   */
  run(work: () => Promise<PushOutcome>, abandon: () => void): Promise<PushOutcome>
  /** Abandons all notifications in flight. Later calls of {@link run} resolve with `try_later`. */
  close(): void
}

/**
 * Creates the time limit for the notifications of one gateway. It is needed because the client libraries of FCM and
 * APNs can wait far longer.
 */
export function createInFlight(clock: Clock): InFlight {
  const pending = new Set<(reason: string) => void>()
  let closed = false
  return {
    run(work, abandon) {
      if (closed) return Promise.resolve({ kind: 'try_later', reason: 'the gateway is closed' })
      return new Promise((resolve) => {
        const settle = (outcome: PushOutcome) => {
          timer.cancel()
          pending.delete(giveUp)
          resolve(outcome)
        }
        const giveUp = (reason: string) => {
          abandon()
          settle({ kind: 'try_later', reason })
        }
        const timer = clock.after(SEND_LIMIT_MS, () => giveUp(`no answer within ${SEND_LIMIT_MS / 1000} s`))
        pending.add(giveUp)
        work().then(settle, (error: unknown) => settle(unexpected(error)))
      })
    },
    close() {
      closed = true
      for (const giveUp of [...pending]) giveUp('the gateway is closed')
    },
  }
}

/**
 * Returns the outcome for an error that the adapter did not translate, which is a bug. The error's message is not used,
 * because it could quote the token.
 */
function unexpected(error: unknown): PushOutcome {
  const name = error instanceof Error ? error.name : typeof error
  return { kind: 'refused', reason: `unexpected ${name}`, unasked: true }
}
