import type { Clock } from '../../clock.ts'
import { type Log, shortToken } from '../../log.ts'
import type { PushClaim, PushQueue } from '../../messages/push-queue.ts'
import { deviceOf } from '../../messages/station.ts'
import type { Platform, StationKey, Stations } from '../../messages/store.ts'
import type { Metrics } from '../../metrics.ts'
import type { PushOutcome } from '../gateway/gateway.ts'
import { buildNotification, type SenderAvatar } from '../gateway/notification.ts'
import type { Lane } from './lane.ts'
import { type NextTry, planAfterFailure, planAfterRefusal, planWhilePhoneIsAway } from './retry-plan.ts'

interface DeliveryParts {
  readonly stations: Pick<Stations, 'get' | 'markTokenDead' | 'prove'>
  readonly pushes: Pick<PushQueue, 'settle' | 'retryLater'>
  readonly hasGateway: (platform: Platform) => boolean
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** At least 0 and below 1, for the jitter. */
  readonly random: () => number
}

/** One claim of the queue, with a place in its lane. */
export interface Claimed {
  readonly claim: PushClaim
  readonly lane: Lane
  /** In elapsed milliseconds. */
  readonly at: number
}

/**
 * What is made of one claim, which leaves its place. None of it rejects; it resolves once the queue knows what became
 * of the claim.
 */
export interface Deliveries {
  /** Tells the phone, or lets it rest where there is nowhere to send to, or plans another try. */
  deliver(claimed: Claimed, avatar: SenderAvatar): Promise<void>
  /** Plans another try, since the database failed before the gateway was asked. */
  putOff(claimed: Claimed, error: unknown): Promise<void>
}

/** A try that came to nothing: by the gateway, by the phone that is away, or by the database. */
interface Failure {
  readonly cause: 'gateway' | 'phone' | 'database'
  readonly reason: string
  readonly afterMs?: number | undefined
}

const MS_PER_S = 1000

/**
 * Where several share the store, what memory has of the registry may be this much older than a claim: asked at once,
 * both go round in circles.
 */
const CLAIM_AGAIN_MS = 1_000

/** Once `closed` says so, whatever has no answer is handed back to the queue as it was. */
export function createDeliveries(parts: DeliveryParts, closed: () => boolean): Deliveries {
  const { stations, pushes, hasGateway, clock, log, metrics, random } = parts

  async function deliver(claimed: Claimed, avatar: SenderAvatar): Promise<void> {
    const { claim, lane } = claimed
    const { pushToken, tokenDead } = claim.device
    if (closed()) {
      lane.leave()
      return handBack(claimed)
    }
    if (!lane.send || tokenDead) {
      await letRest(claimed)
      return lane.leave()
    }
    let outcome: PushOutcome
    try {
      outcome = await lane.send(pushToken, buildNotification(claim.station, claim.unpushed, avatar))
    } catch (error) {
      // None is meant to be thrown. One that is must not keep the place for good; its message could quote the token.
      outcome = { kind: 'refused', reason: `unexpected ${error instanceof Error ? error.name : typeof error}` }
    }
    // Before the database has it, so that the gateway does not wait for the disk.
    lane.leave()
    await conclude(claimed, outcome)
  }

  /** Nowhere to send to, as the claim had it. Its phone may have registered anew since: it has not been told. */
  function letRest({ claim, lane }: Claimed): Promise<void> {
    const { station, device } = claim
    const now = deviceOf(stations.get(station), device.id)
    if (now && !now.tokenDead && hasGateway(now.platform))
      return noted(station, pushes.retryLater(claim, { delayMs: CLAIM_AGAIN_MS, tries: 0, refusals: 0 }))
    metrics.countCase('pushes_unsendable', {
      platform: device.platform,
      reason: lane.send ? 'token_dead' : 'gateway_off',
    })
    return noted(station, pushes.settle(claim))
  }

  async function conclude(claimed: Claimed, outcome: PushOutcome): Promise<void> {
    const { claim, at } = claimed
    const { station } = claim
    const { platform, pushToken } = claim.device
    if (outcome.kind === 'busy') return comeBack(claimed, outcome.afterMs)
    if (outcome.kind === 'try_later') return tryLater(claimed, { ...outcome, cause: 'gateway' })
    if (outcome.kind === 'phone_away') return tryLater(claimed, { ...outcome, cause: 'phone' })
    if (outcome.kind === 'unauthorized') return waitForAuthorization(claimed, outcome.reason)
    if (outcome.kind === 'accepted') {
      metrics.countCase('pushes_accepted', { platform })
      stations.prove(station)
      // What waited for somebody else says nothing of how quick the gateway is.
      if (claim.refusals === 0) metrics.observePushLatency(platform, (claim.waitedMs + clock.elapsed() - at) / MS_PER_S)
    } else {
      const fields = { station, platform, token: shortToken(pushToken), reason: outcome.reason }
      if (outcome.kind === 'token_gone') return forgetToken(claimed, fields)
      metrics.countCase('pushes_refused', { platform, reason: 'notification' })
      log.error('push-refused', 'A push gateway refused a notification for good.', fields)
    }
    await noted(station, pushes.settle(claim))
  }

  async function forgetToken(claimed: Claimed, fields: Readonly<Record<string, string>>): Promise<void> {
    const { claim } = claimed
    const { station } = claim
    const { id, platform, pushToken } = claim.device
    metrics.countCase('push_tokens_gone', { platform })
    log.info('push-token-gone', 'A push token is dead; its phone gets no notifications until it registers one.', fields)
    try {
      await stations.markTokenDead(station, id, pushToken)
    } catch (error) {
      return databaseFailed(claimed, error)
    }
    // Meanwhile registered with another token: that phone has not been told.
    const isAlive = deviceOf(stations.get(station), id)?.tokenDead === false
    await noted(
      station,
      isAlive ? pushes.retryLater(claim, { delayMs: 0, tries: 0, refusals: 0 }) : pushes.settle(claim),
    )
  }

  function putOff(claimed: Claimed, error: unknown): Promise<void> {
    claimed.lane.leave()
    return databaseFailed(claimed, error)
  }

  function databaseFailed(claimed: Claimed, error: unknown): Promise<void> {
    return tryLater(claimed, { cause: 'database', reason: `the database failed (${messageOf(error)})` })
  }

  async function tryLater(claimed: Claimed, { cause, reason, afterMs }: Failure): Promise<void> {
    if (closed()) return handBack(claimed)
    const { claim, at } = claimed
    const { station } = claim
    const { platform } = claim.device
    const triedMs = clock.elapsed() - at
    // In either direction: where the clock was wrong, the oldest message counts.
    const newestAgeMs = Math.abs(clock.now() - claim.unpushed.newest.stamp)
    const next =
      cause === 'phone'
        ? planWhilePhoneIsAway(claim, Math.min(claim.waitedMs + triedMs, newestAgeMs), random())
        : planAfterFailure({ claim, elapsedMs: claim.firstTryMs + triedMs, afterMs }, random())
    if (next) {
      metrics.countCase('pushes_retried', { platform, reason: cause })
      return plan(claim, next, reason)
    }
    metrics.countCase('pushes_given_up', { platform, reason: cause })
    // Of phones that are away there always are some.
    if (cause !== 'phone')
      log.warn('push-given-up', 'A notification was given up; the phone finds the messages by sync.', {
        station,
        tries: claim.tries + 1,
        reason,
      })
    // Only what it was about: what came meanwhile was in no notification yet.
    await noted(station, pushes.settle(claim))
  }

  function waitForAuthorization(claimed: Claimed, reason: string): Promise<void> {
    if (closed()) return handBack(claimed)
    const { claim } = claimed
    const { platform } = claim.device
    metrics.countCase('pushes_retried', { platform, reason: 'credentials' })
    return plan(claim, planAfterRefusal(claim, random()), reason)
  }

  function plan(claim: PushClaim, next: NextTry, reason: string): Promise<void> {
    const { station } = claim
    const { tries, refusals, delayMs } = next
    log.debug('push-retry', 'A notification is tried again later.', {
      station,
      tries: tries || refusals,
      delayMs,
      reason,
    })
    return noted(station, pushes.retryLater(claim, next))
  }

  function handBack(claimed: Claimed): Promise<void> {
    return comeBack(claimed, 0)
  }

  /** The gateway was not asked, so this was no try. */
  function comeBack({ claim }: Claimed, delayMs: number): Promise<void> {
    const { tries, refusals } = claim
    return noted(claim.station, pushes.retryLater(claim, { delayMs: closed() ? 0 : delayMs, tries, refusals }))
  }

  async function noted(station: StationKey, written: Promise<void>): Promise<void> {
    try {
      await written
    } catch (error) {
      // At worst its phone is told twice.
      log.warn('push-not-marked', 'The database did not take what became of a notification.', { station, error })
    }
  }

  return { deliver, putOff }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : typeof error
}
