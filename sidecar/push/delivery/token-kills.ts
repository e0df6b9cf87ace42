import type { PushOutcome } from '../gateway/gateway.ts'

/**
 * So many dead tokens in a row, with no other answer between them, mean that the configuration is wrong, not the
 * phones.
 */
export const SUSPICIOUS_KILLS = 20

/**
 * Watches whether a gateway calls every token dead. A Firebase project or an APNs environment that does not belong to
 * the app does so, and each such answer would end the notifications of a phone until its app registers again.
 *
 * - `trusting`: a dead token is dead. After {@link SUSPICIOUS_KILLS} in a row, `doubting`.
 * - `doubting`: no token is declared dead; notifications wait. The first accepted one leads back to `trusting`.
 */
export class TokenKills {
  #inARow = 0
  #doubts = false

  get doubts(): boolean {
    return this.#doubts
  }

  /** Takes an answer of the gateway. */
  note(outcome: PushOutcome): void {
    if (outcome.kind === 'accepted') this.#doubts = false
    // No answer says nothing about tokens.
    if (outcome.kind === 'try_later') return
    this.#inARow = outcome.kind === 'token_gone' ? this.#inARow + 1 : 0
    if (this.#inARow >= SUSPICIOUS_KILLS) this.#doubts = true
  }
}
