import type { PushClaim } from '../../messages/push-queue.ts'
import { NOTIFICATION_TTL_MS } from '../gateway/notification.ts'

/**
 * Limit of tries of a notification, after which it is dropped. Refusals of the sidecar are not counted, because they
 * are not the notification's fault.
 */
export const MAX_TRIES = 20
/** A notification is dropped if its next try would be later than this after the first. */
export const GIVE_UP_AFTER_MS = 60 * 60 * 1000

const FIRST_DELAY_MS = 1_000
const DELAY_FACTOR = 3
const MAX_DELAY_MS = 5 * 60 * 1000
/** The longest delay that a gateway may request. A longer delay is shortened to this one. */
const MAX_AFTER_MS = 15 * 60 * 1000

/** The delay before the next try of a notification, and the numbers of tries and refusals so far. */
export interface NextTry {
  readonly delayMs: number
  readonly tries: number
  readonly refusals: number
}

/**
 * A failed try. `elapsedMs`: time since the start of the first try. `afterMs`: the delay that the gateway requested, if
 * any.
 */
interface Failed {
  readonly claim: Pick<PushClaim, 'tries'>
  readonly elapsedMs: number
  readonly afterMs: number | undefined
}

/**
 * Plans the next try after a failed one. Returns undefined if the notification must be dropped. `random` is at least 0
 * and below 1.
 */
export function planAfterFailure({ claim, elapsedMs, afterMs }: Failed, random: number): NextTry | undefined {
  const tries = claim.tries + 1
  const delayMs = retryDelayMs(tries, afterMs, random)
  if (tries >= MAX_TRIES || elapsedMs + delayMs > GIVE_UP_AFTER_MS) return undefined
  return { delayMs, tries, refusals: 0 }
}

/**
 * Plans the next try after the gateway refused the sidecar. Tries are not limited, because an administrator must act.
 */
export function planAfterRefusal({ refusals }: Pick<PushClaim, 'refusals'>, random: number): NextTry {
  return { delayMs: retryDelayMs(refusals + 1, undefined, random), tries: 0, refusals: refusals + 1 }
}

/**
 * Plans the next try for a phone that was offline. Returns undefined once other gateways would drop the notification.
 *
 * @param waitedMs time since the notification's newest message arrived
 */
export function planWhilePhoneIsAway(
  claim: Pick<PushClaim, 'refusals'>,
  waitedMs: number,
  random: number,
): NextTry | undefined {
  const next = planAfterRefusal(claim, random)
  return waitedMs + next.delayMs > NOTIFICATION_TTL_MS ? undefined : next
}

/** Returns a delay in milliseconds: `afterMs` plus an exponential delay. Jitter spreads tries that failed together. */
function retryDelayMs(tries: number, afterMs: number | undefined, random: number): number {
  const backOff = Math.min(FIRST_DELAY_MS * DELAY_FACTOR ** (tries - 1), MAX_DELAY_MS)
  return Math.round(Math.min(afterMs ?? 0, MAX_AFTER_MS) + backOff * (0.5 + random / 2))
}
