import type { Clock } from '../../clock.ts'
import type { PushOutcome } from '../gateway/gateway.ts'

/**
 * The state of a gateway, from its latest answers:
 * - `unused`: nothing was sent yet.
 * - `working`: it accepted the last notification, or reported a dead token or an offline phone.
 * - `failing`: it cannot be reached, or a quota is exceeded.
 * - `refusing`: it refused the last notification or the sidecar's credentials.
 */
export type GatewayState = 'unused' | 'working' | 'failing' | 'refusing'

/** A refusal or failure, with its wall-clock time in milliseconds since 1970. */
export interface Setback {
  readonly at: number
  readonly reason: string
}

/** The latest answers of one gateway. */
export interface GatewayAnswers {
  readonly state: GatewayState
  /** Whether the last refusal was because of the sidecar's credentials, and the gateway has accepted nothing since. */
  readonly credentialsRefused: boolean
  /** Wall-clock time of the last accepted notification, in milliseconds since 1970; undefined if there is none. */
  readonly lastAcceptedAt: number | undefined
  readonly lastRefused: Setback | undefined
  readonly lastFailed: Setback | undefined
}

/** Remembers the latest answers of one gateway. */
export interface AnswerRecord {
  note(outcome: PushOutcome): void
  read(): GatewayAnswers
}

export function recordAnswers(clock: Pick<Clock, 'now'>): AnswerRecord {
  let answers: GatewayAnswers = {
    state: 'unused',
    credentialsRefused: false,
    lastAcceptedAt: undefined,
    lastRefused: undefined,
    lastFailed: undefined,
  }

  function after(outcome: PushOutcome): GatewayAnswers {
    const now = clock.now()
    if (outcome.kind === 'accepted')
      return { ...answers, state: 'working', credentialsRefused: false, lastAcceptedAt: now }
    if (outcome.kind === 'token_gone' || outcome.kind === 'phone_away')
      return { ...answers, state: 'working', credentialsRefused: false }
    const { reason } = outcome
    if (outcome.kind !== 'try_later')
      return {
        ...answers,
        state: 'refusing',
        credentialsRefused: outcome.kind === 'unauthorized',
        lastRefused: { at: now, reason },
      }
    // A temporary fault does not end the state `refusing`.
    const state = answers.state === 'refusing' ? 'refusing' : 'failing'
    return { ...answers, state, lastFailed: { at: now, reason } }
  }

  return {
    note(outcome) {
      answers = after(outcome)
    },
    read: () => answers,
  }
}
