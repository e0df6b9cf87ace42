import type { PushOutcome } from '../gateway/gateway.ts'

/**
 * This many dead tokens in a row, with no other answer in between, mean that the configuration is wrong.
 */
export const SUSPICIOUS_KILLS = 20

/**
 * Detects a gateway that reports every token dead. A Firebase project or APNs environment that does not belong to the
 * app does so. Each such report would end the notifications of a phone until its app registers again.
 *
 * - *Trusting*: a token that is reported dead is removed. After {@link SUSPICIOUS_KILLS} in a row, it is doubting.
 * - *Doubting*: no token is removed, and notifications wait. Once one is accepted, it is trusting again.
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
    // A failure to answer says nothing about tokens.
    if (outcome.kind === 'try_later') return
    this.#inARow = outcome.kind === 'token_gone' ? this.#inARow + 1 : 0
    if (this.#inARow >= SUSPICIOUS_KILLS) this.#doubts = true
  }
}
