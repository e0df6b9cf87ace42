import type { Clock } from '../../clock.ts'
import type { PushOutcome } from '../gateway/gateway.ts'

/**
 * What a gateway's latest answers come to.
 * - `unused`: nothing was sent yet;
 * - `working`: it took the last notification, or said that its phone is gone or away;
 * - `failing`: out of reach, or over a quota;
 * - `refusing`: it refused the last one for good, or does not accept who we are.
 */
export type GatewayState = 'unused' | 'working' | 'failing' | 'refusing'

/** An answer that was none, and when it came, in milliseconds since 1970. */
export interface Setback {
  readonly at: number
  readonly reason: string
}

/** How one gateway has answered lately. */
export interface GatewayAnswers {
  readonly state: GatewayState
  /** The last refusal was for our credentials, and nothing was taken since. */
  readonly credentialsRefused: boolean
  /** In milliseconds since 1970; undefined before the first. */
  readonly lastAcceptedAt: number | undefined
  readonly lastRefused: Setback | undefined
  readonly lastFailed: Setback | undefined
}

/** Remembers how one gateway answers. */
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
    const at = clock.now()
    if (outcome.kind === 'accepted')
      return { ...answers, state: 'working', credentialsRefused: false, lastAcceptedAt: at }
    if (outcome.kind === 'token_gone' || outcome.kind === 'phone_away')
      return { ...answers, state: 'working', credentialsRefused: false }
    const { reason } = outcome
    if (outcome.kind !== 'try_later')
      return {
        ...answers,
        state: 'refusing',
        credentialsRefused: outcome.kind === 'unauthorized',
        lastRefused: { at, reason },
      }
    // Silence takes no refusal back.
    const state = answers.state === 'refusing' ? 'refusing' : 'failing'
    return { ...answers, state, lastFailed: { at, reason } }
  }

  return {
    note(outcome) {
      answers = after(outcome)
    },
    read: () => answers,
  }
}
