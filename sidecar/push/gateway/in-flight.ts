import type { Clock } from '../../clock.ts'
import type { PushOutcome } from './gateway.ts'

/** The longest that one call of {@link PushGateway.send} takes, in milliseconds. */
export const SEND_LIMIT_MS = 10_000

/** The calls of one gateway that wait for its answer. */
export interface InFlight {
  /** What `work` comes to, or a fault to be tried later when the limit passes first; `abandon` then stops the work. */
  run(work: () => Promise<PushOutcome>, abandon: () => void): Promise<PushOutcome>
  /** Abandons everything, and whatever is still to come. */
  close(): void
}

/** Both vendors' clients can wait far longer than we do: they get no say in when a call ends. */
export function createInFlight(clock: Clock): InFlight {
  const calls = new Set<(reason: string) => void>()
  let closed = false
  return {
    run(work, abandon) {
      if (closed) return Promise.resolve({ kind: 'try_later', reason: 'the gateway is closed' })
      return new Promise((resolve) => {
        const settle = (outcome: PushOutcome) => {
          timer.cancel()
          calls.delete(giveUp)
          resolve(outcome)
        }
        const giveUp = (reason: string) => {
          abandon()
          settle({ kind: 'try_later', reason })
        }
        const timer = clock.after(SEND_LIMIT_MS, () => giveUp(`no answer within ${SEND_LIMIT_MS / 1000} s`))
        calls.add(giveUp)
        work().then(settle, (error: unknown) => settle(unexpected(error)))
      })
    },
    close() {
      closed = true
      for (const giveUp of [...calls]) giveUp('the gateway is closed')
    },
  }
}

/**
 * What is none of the outcomes that a gateway knows: a fault of ours. Its message is not ours, and could quote the
 * token.
 */
function unexpected(error: unknown): PushOutcome {
  const name = error instanceof Error ? error.name : typeof error
  return { kind: 'refused', reason: `unexpected ${name}`, unasked: true }
}
