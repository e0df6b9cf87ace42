import type { PushOutcome } from '../gateway/gateway.ts'

/** Number of dead tokens in a row, without another answer in between, that indicates a wrong configuration. */
export const SUSPICIOUS_KILLS = 20

/**
 * Detects a gateway that reports every token dead, because its Firebase project or APNs environment does not belong to
 * the app. If the sidecar believed such reports, all phones would get no notifications until their apps register again.
 *
 * - *Trusting*: the sidecar marks a token as dead when the gateway reports it dead. After {@link SUSPICIOUS_KILLS} such
 *   reports in a row, the state is *doubting*.
 * - *Doubting*: the sidecar marks no token as dead, and notifications wait. Once the gateway accepts a notification,
 *   the state is *trusting* again.
 */
export class TokenKills {
  #inARow = 0
  #doubts = false

  get doubts(): boolean {
    return this.#doubts
  }

  /** Records an answer of the gateway. */
  note(outcome: PushOutcome): void {
    if (outcome.kind === 'accepted') this.#doubts = false
    // A temporary failure does not show whether the token is dead.
    if (outcome.kind === 'try_later') return
    this.#inARow = outcome.kind === 'token_gone' ? this.#inARow + 1 : 0
    if (this.#inARow >= SUSPICIOUS_KILLS) this.#doubts = true
  }
}
