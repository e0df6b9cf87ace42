import type { Clock } from '../../clock.ts'
import type { Log } from '../../log.ts'
import type { Platform } from '../../messages/store.ts'
import type { Notification, PushGateway, PushOutcome } from '../gateway/gateway.ts'
import { type AnswerRecord, type GatewayAnswers, recordAnswers } from './answers.ts'
import { SUSPICIOUS_KILLS, TokenKills } from './token-kills.ts'

const WARN_INTERVAL_MS = 60_000

/** Instructions for the operator if a gateway reports every token dead. */
const REMEDIES: Readonly<Record<Platform, string>> = {
  android: 'Check that push.fcm.serviceAccountFile belongs to the Firebase project of the app.',
  ios: 'Check push.apns.production (false for builds from Xcode) and push.apns.topic (the bundle id of the app).',
  webpush: 'Check that the app subscribes with the VAPID keys of this sidecar.',
}

interface WatchedGatewayParts {
  readonly platform: Platform
  readonly gateway: PushGateway
  readonly clock: Clock
  readonly log: Log
}

/**
 * Wraps a push gateway, and remembers and logs its answers.
 *
 * - It *fails* if it does not answer or requests a later retry.
 * - It *refuses the sidecar* because of credentials or configuration. The beginning, the end and each new reason are
 *   logged.
 * - It is *doubted* if it reports every token dead; see {@link TokenKills}. Until it accepts a notification, reports of
 *   dead tokens then count as refusals of the sidecar, so notifications wait.
 */
export class WatchedGateway {
  readonly #parts: WatchedGatewayParts
  readonly #answers: AnswerRecord
  readonly #kills = new TokenKills()
  /** When the failing gateway was last logged as a warning, as {@link Clock.elapsed} milliseconds. */
  #warnedAt = Number.NEGATIVE_INFINITY
  /** Why the gateway refuses the sidecar; undefined while it does not. */
  #refusal: string | undefined
  #closing = false

  constructor(parts: WatchedGatewayParts) {
    this.#parts = parts
    this.#answers = recordAnswers(parts.clock)
  }

  get platform(): Platform {
    return this.#parts.platform
  }

  answers(): GatewayAnswers & { readonly tokensDoubted: boolean } {
    return { ...this.#answers.read(), tokensDoubted: this.#kills.doubts }
  }

  /** Sends one notification. Rejects only because of a bug in the gateway's adapter. */
  async send(pushToken: string, notification: Notification): Promise<PushOutcome> {
    const { gateway, platform } = this.#parts
    const outcome = await gateway.send(pushToken, notification)
    const wasDoubted = this.#kills.doubts
    // With `unasked`, the gateway was not contacted. Otherwise a stranger who registers an invalid token could hide a
    // refusal.
    if (!('unasked' in outcome)) this.#note(outcome)
    if (outcome.kind !== 'token_gone' || 'unasked' in outcome || !wasDoubted) return outcome
    return {
      kind: 'unauthorized',
      reason: `${outcome.reason}; the gateway reports every token dead. ${REMEDIES[platform]}`,
    }
  }

  close(): Promise<void> {
    this.#closing = true
    return this.#parts.gateway.close()
  }

  #note(outcome: PushOutcome): void {
    this.#answers.note(outcome)
    this.#noteKills(outcome)
    // A temporary failure does not show whether the gateway would refuse the sidecar.
    if (outcome.kind === 'try_later') this.#warnOfFailure(outcome.reason)
    else this.#noteRefusal(outcome.kind === 'unauthorized' ? outcome.reason : undefined)
  }

  /** Warns at most once a minute, because every try fails while a gateway is down. */
  #warnOfFailure(reason: string): void {
    const { clock, log, platform } = this.#parts
    if (this.#closing || clock.elapsed() - this.#warnedAt < WARN_INTERVAL_MS) return
    this.#warnedAt = clock.elapsed()
    log.warn(
      'push-gateway-failing',
      'A push gateway fails; its notifications are retried. If this lasts, check the network to the gateway and its status.',
      { platform, reason },
    )
  }

  #noteRefusal(reason: string | undefined): void {
    const { log, platform } = this.#parts
    if (reason === this.#refusal) return
    this.#refusal = reason
    if (reason === undefined) log.info('push-authorized', 'A push gateway accepts notifications again.', { platform })
    else
      log.error(
        'push-unauthorized',
        'A push gateway refuses the sidecar, so its notifications wait. Correct what the reason names.',
        { platform, reason },
      )
  }

  #noteKills(outcome: PushOutcome): void {
    const { log, platform } = this.#parts
    const wereDoubted = this.#kills.doubts
    this.#kills.note(outcome)
    if (this.#kills.doubts === wereDoubted) return
    if (this.#kills.doubts)
      log.error(
        'push-tokens-doubted',
        `A push gateway reported ${SUSPICIOUS_KILLS} tokens in a row dead, so its credentials probably belong to another app. No more tokens are marked dead, and its notifications wait. ${REMEDIES[platform]}`,
        { platform },
      )
    else
      log.info(
        'push-tokens-trusted',
        'A push gateway accepts notifications again, so its reports of dead tokens are trusted again.',
        {
          platform,
        },
      )
  }
}
