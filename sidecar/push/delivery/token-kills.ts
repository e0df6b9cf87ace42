import type { PushOutcome } from '../gateway/gateway.ts'

/** Number of tokens reported dead in a row, with no other answer in between, that indicates a wrong configuration. */
export const SUSPICIOUS_KILLS = 20

/**
 * Detects a gateway that reports every token dead, because its Firebase project or APNs environment does not belong to
 * the app. If such reports were believed, each phone would get no notifications until its app registers again.
 *
 * - *Trusting*: a token that is reported dead is removed. After {@link SUSPICIOUS_KILLS} reports in a row, the state is
 *   *doubting*.
 * - *Doubting*: no token is removed, and notifications wait. Once the gateway accepts one, the state is *trusting*
 *   again.
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
    // A temporary failure shows nothing about tokens.
    if (outcome.kind === 'try_later') return
    this.#inARow = outcome.kind === 'token_gone' ? this.#inARow + 1 : 0
    if (this.#inARow >= SUSPICIOUS_KILLS) this.#doubts = true
  }
}
