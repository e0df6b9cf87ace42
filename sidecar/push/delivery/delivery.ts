import type { Clock } from '../../clock.ts'
import { type Log, shortToken } from '../../log.ts'
import type { PushClaim, PushQueue } from '../../messages/push-queue.ts'
import type { PushResult, PushResultKind } from '../../messages/reports/push-result.ts'
import { deviceOf } from '../../messages/station.ts'
import type { Platform, StationKey, Stations } from '../../messages/store.ts'
import type { Metrics } from '../../metrics.ts'
import type { PushOutcome } from '../gateway/gateway.ts'
import { buildNotification, type SenderAvatar } from '../gateway/notification.ts'
import { type NextTry, planAfterFailure, planAfterRefusal, planWhilePhoneIsAway } from './retry-plan.ts'
import type { SendSlots } from './send-slots.ts'
import type { WatchedGateway } from './watched-gateway.ts'

interface DeliveryParts {
  readonly stations: Pick<Stations, 'get' | 'markTokenDead' | 'prove'>
  readonly pushes: Pick<PushQueue, 'settle' | 'retryLater'>
  readonly gateways: ReadonlyMap<Platform, Pick<WatchedGateway, 'send'>>
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** Returns a random number from 0 to below 1, for the jitter of retries. */
  readonly random: () => number
  /** Whether the dispatcher is closing. */
  readonly isClosing: () => boolean
}

/** A claimed device that occupies a slot until its notification is answered. */
export interface ClaimInFlight {
  readonly claim: PushClaim
  readonly slots: SendSlots
  /** When the device was claimed, as {@link Clock.elapsed} milliseconds. */
  readonly claimedAt: number
}

/** A try that failed for a temporary reason. `afterMs`: the delay that the gateway requested, if any. */
interface Failure {
  readonly cause: 'gateway' | 'phone' | 'database'
  readonly reason: string
  readonly afterMs?: number | undefined
}

/** The operator sees at most so many characters of the reason that a gateway gives. */
const MAX_REASON_CHARACTERS = 300

const MS_PER_S = 1000

/**
 * Delay before a device is claimed again if its claim disagrees with the registry in memory. With a shared store, the
 * registry may be a second out of date.
 */
const CLAIM_AGAIN_MS = 1000

/**
 * Notifies claimed devices. A claim occupies a slot of its gateway until its notification is answered.
 *
 * A claim is *settled* if its device was notified or cannot be notified; otherwise it is *retried later*. No method
 * rejects.
 */
export class Deliveries {
  readonly #parts: DeliveryParts

  constructor(parts: DeliveryParts) {
    this.#parts = parts
  }

  /** Sends the notification of a claim. Resolves once the outcome is recorded in the queue. */
  async deliver(inFlight: ClaimInFlight, avatar: SenderAvatar): Promise<void> {
    const { claim, slots } = inFlight
    const { platform, tokenDead } = claim.device
    if (this.#parts.isClosing()) {
      slots.release()
      return this.#handBack(claim, 0)
    }
    const gateway = this.#parts.gateways.get(platform)
    if (!gateway || tokenDead) {
      await this.#cannotSend(claim, gateway === undefined)
      return slots.release()
    }
    const outcome = await this.#send(gateway, claim, avatar)
    // The slot is released before the outcome is stored, so that the next notification does not wait for the disk.
    slots.release()
    await this.#conclude(inFlight, outcome)
  }

  /** Schedules another try, because the database failed before the notification could be sent. */
  async postpone(inFlight: ClaimInFlight, error: unknown): Promise<void> {
    inFlight.slots.release()
    await this.#databaseFailed(inFlight, error)
  }

  async #send(gateway: Pick<WatchedGateway, 'send'>, claim: PushClaim, avatar: SenderAvatar): Promise<PushOutcome> {
    try {
      return await gateway.send(claim.device.pushToken, buildNotification(claim.station, claim.unpushed, avatar))
    } catch (error) {
      // A gateway should never throw. If one does because of a bug, the slot must still be released. The error's
      // message is not used, because it could quote the token.
      return { kind: 'refused', reason: `unexpected ${error instanceof Error ? error.name : typeof error}` }
    }
  }

  /** Settles a claim for a device that has no gateway or a dead token. */
  #cannotSend(claim: PushClaim, isGatewayOff: boolean): Promise<void> {
    const { stations, pushes, gateways, metrics } = this.#parts
    const { station, device } = claim
    const current = deviceOf(stations.get(station), device.id)
    // If the phone has registered again since the claim, the notification can be sent after all.
    if (current && !current.tokenDead && gateways.has(current.platform))
      return this.#record(station, pushes.retryLater(claim, { delayMs: CLAIM_AGAIN_MS, tries: 0, refusals: 0 }))
    metrics.countCase('pushes_unsendable', {
      platform: device.platform,
      reason: isGatewayOff ? 'gateway_off' : 'token_dead',
    })
    // For a dead token, no new result is recorded, because the operator should still see the gateway's answer that the
    // token is dead.
    const reason = `No push gateway is configured for ${device.platform}.`
    const result = isGatewayOff ? this.#result('gateway_off', reason) : undefined
    return this.#record(station, pushes.settle(claim, result))
  }

  async #conclude(inFlight: ClaimInFlight, outcome: PushOutcome): Promise<void> {
    const { claim } = inFlight
    switch (outcome.kind) {
      case 'accepted':
        return this.#accepted(inFlight)
      case 'busy':
        return this.#handBack(claim, outcome.afterMs)
      case 'try_later':
        return this.#failed(inFlight, { cause: 'gateway', reason: outcome.reason, afterMs: outcome.afterMs })
      case 'phone_away':
        return this.#failed(inFlight, { cause: 'phone', reason: outcome.reason })
      case 'unauthorized':
        return this.#unauthorized(claim, outcome.reason)
      case 'token_gone':
        return this.#tokenGone(inFlight, outcome.reason)
      case 'refused':
        return this.#refused(claim, outcome.reason)
    }
  }

  async #accepted({ claim, claimedAt }: ClaimInFlight): Promise<void> {
    const { stations, pushes, clock, log, metrics } = this.#parts
    const { station, device, unpushed, refusals, waitedMs } = claim
    const { platform } = device
    metrics.countCase('pushes_accepted', { platform })
    stations.prove(station)
    // Notifications that waited for an administrator or an offline phone are left out of the latency.
    if (refusals === 0) metrics.observePushLatency(platform, (waitedMs + clock.elapsed() - claimedAt) / MS_PER_S)
    if (log.isDebug)
      log.debug('message-pushed', 'A push gateway accepted a notification of one or more messages.', {
        station,
        stamp: unpushed.newest.stamp,
        count: unpushed.count,
        platform,
        tokenEnd: shortToken(device.pushToken),
      })
    await this.#record(station, pushes.settle(claim, this.#result('accepted')))
  }

  async #refused(claim: PushClaim, reason: string): Promise<void> {
    const { pushes, log, metrics } = this.#parts
    metrics.countCase('pushes_refused', { platform: claim.device.platform, reason: 'notification' })
    log.error(
      'push-refused',
      'A push gateway refused a notification, which is dropped; the phone gets its messages by sync. Please report this as a bug, with the reason.',
      logFields(claim, reason),
    )
    await this.#record(claim.station, pushes.settle(claim, this.#result('refused', reason)))
  }

  async #tokenGone(inFlight: ClaimInFlight, reason: string): Promise<void> {
    const { stations, pushes, log, metrics } = this.#parts
    const { claim } = inFlight
    const { station } = claim
    const { id, platform, pushToken } = claim.device
    metrics.countCase('push_tokens_gone', { platform })
    log.info(
      'push-token-gone',
      'A push token is dead; its phone gets no notifications until its app registers a token.',
      logFields(claim, reason),
    )
    try {
      await stations.markTokenDead(station, id, pushToken)
    } catch (error) {
      return this.#databaseFailed(inFlight, error)
    }
    // If the device has registered another token meanwhile, the notification is sent to that token.
    const isAlive = deviceOf(stations.get(station), id)?.tokenDead === false
    const result = this.#result('token_gone', reason)
    await this.#record(
      station,
      isAlive ? pushes.retryLater(claim, { delayMs: 0, tries: 0, refusals: 0 }, result) : pushes.settle(claim, result),
    )
  }

  async #unauthorized(claim: PushClaim, reason: string): Promise<void> {
    const { random, isClosing, metrics } = this.#parts
    if (isClosing()) return this.#handBack(claim, 0)
    metrics.countCase('pushes_retried', { platform: claim.device.platform, reason: 'credentials' })
    await this.#retry(claim, planAfterRefusal(claim, random()), this.#result('unauthorized', reason), reason)
  }

  #databaseFailed(inFlight: ClaimInFlight, error: unknown): Promise<void> {
    const message = error instanceof Error ? error.message : typeof error
    return this.#failed(inFlight, { cause: 'database', reason: `the database failed (${message})` })
  }

  async #failed(inFlight: ClaimInFlight, failure: Failure): Promise<void> {
    const { pushes, isClosing, log, metrics } = this.#parts
    const { claim } = inFlight
    const { station } = claim
    const { platform } = claim.device
    const { cause, reason } = failure
    if (isClosing()) return this.#handBack(claim, 0)
    const next = this.#planAfter(inFlight, failure)
    const result = this.#resultOf(failure)
    if (next) {
      metrics.countCase('pushes_retried', { platform, reason: cause })
      return this.#retry(claim, next, result, reason)
    }
    metrics.countCase('pushes_given_up', { platform, reason: cause })
    // An offline phone causes no warning, because some phones are never online again.
    if (cause !== 'phone')
      log.warn(
        'push-given-up',
        'A notification failed too often and is dropped; the phone gets its messages by sync.',
        {
          station,
          tries: claim.tries + 1,
          reason,
        },
      )
    // Settles only the messages of this claim. Newer messages get their own notification.
    await this.#record(station, pushes.settle(claim, result))
  }

  /** Plans the next try after a failure. Returns undefined if the notification must be dropped. */
  #planAfter({ claim, claimedAt }: ClaimInFlight, { cause, afterMs }: Failure): NextTry | undefined {
    const { clock, random } = this.#parts
    const triedMs = clock.elapsed() - claimedAt
    if (cause !== 'phone') return planAfterFailure({ claim, elapsedMs: claim.firstTryMs + triedMs, afterMs }, random())
    // `Math.abs`, because the clock may have been set back since the message arrived. If a wrong clock makes the age
    // too large, the first value limits it.
    const newestAgeMs = Math.abs(clock.now() - claim.unpushed.newest.stamp)
    return planWhilePhoneIsAway(claim, Math.min(claim.waitedMs + triedMs, newestAgeMs), random())
  }

  #retry(claim: PushClaim, next: NextTry, result: PushResult | undefined, reason: string): Promise<void> {
    const { pushes, log } = this.#parts
    const { station } = claim
    const { tries, refusals, delayMs } = next
    log.debug('push-retry', 'A notification failed and is retried later.', {
      station,
      tries: tries || refusals,
      delayMs,
      reason,
    })
    return this.#record(station, pushes.retryLater(claim, next, result))
  }

  /** Returns the result of a failed try for the operator; undefined if the database failed, and not the gateway. */
  #resultOf({ cause, reason }: Failure): PushResult | undefined {
    if (cause === 'database') return undefined
    return this.#result(cause === 'phone' ? 'phone_away' : 'try_later', reason)
  }

  #result(outcome: PushResultKind, reason: string | null = null): PushResult {
    return { at: this.#parts.clock.now(), outcome, reason: reason?.slice(0, MAX_REASON_CHARACTERS) ?? null }
  }

  /** Returns a claim to the queue. This is not counted as a try, because nothing was sent or no answer arrived. */
  #handBack(claim: PushClaim, delayMs: number): Promise<void> {
    const { pushes, isClosing } = this.#parts
    const { station, tries, refusals } = claim
    return this.#record(station, pushes.retryLater(claim, { delayMs: isClosing() ? 0 : delayMs, tries, refusals }))
  }

  async #record(station: StationKey, written: Promise<void>): Promise<void> {
    try {
      await written
    } catch (error) {
      this.#parts.log.warn(
        'push-not-marked',
        'Could not record the outcome of a notification; its phone may be notified again.',
        { station, error },
      )
    }
  }
}

function logFields({ station, device }: PushClaim, reason: string): Readonly<Record<string, string>> {
  return { station, platform: device.platform, token: shortToken(device.pushToken), reason }
}
