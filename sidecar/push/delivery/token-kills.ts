import type { PushOutcome } from '../gateway/gateway.ts'

/** Number of dead tokens in a row, without another answer in between, that indicates a wrong configuration. */
export const SUSPICIOUS_KILLS = 20

/**
 * Detects a gateway that reports every token dead, because its Firebase project or APNs environment is not the app's.
 * Believing it would silence all phones until their apps register again.
 *
 * - *Trusting*: tokens that the gateway reports dead are marked dead. {@link SUSPICIOUS_KILLS} such reports in a row
 *   begin *doubting*.
 * - *Doubting*: no token is marked dead, and notifications wait. *Trusting* begins once the gateway accepts a
 *   notification.
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
