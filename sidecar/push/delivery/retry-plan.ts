import type { PushClaim } from '../../messages/push-queue.ts'
import { NOTIFICATION_TTL_MS } from '../gateway/notification.ts'

/**
 * A notification is given up after so many tries, or when the next one would be later than so long after the first.
 * Those that meet a gateway which refuses us do not count: how soon our credentials are mended says nothing about the
 * notification.
 */
export const MAX_TRIES = 20
export const GIVE_UP_AFTER_MS = 60 * 60 * 1000

const FIRST_DELAY_MS = 1_000
const DELAY_FACTOR = 3
const MAX_DELAY_MS = 5 * 60 * 1000
/** However long a gateway asks us to wait. */
const MAX_AFTER_MS = 15 * 60 * 1000

/** When a notification is tried again, and what its next claim is to know. */
export interface NextTry {
  readonly delayMs: number
  readonly tries: number
  readonly refusals: number
}

/** A try that failed for now: `elapsedMs` after the first one began, with the wait that the gateway asks for. */
interface Failed {
  readonly claim: Pick<PushClaim, 'tries'>
  readonly elapsedMs: number
  readonly afterMs: number | undefined
}

/**
 * The try after one that failed; undefined when the notification is to be given up. `random` is at least 0 and below 1.
 */
export function planAfterFailure({ claim, elapsedMs, afterMs }: Failed, random: number): NextTry | undefined {
  const tries = claim.tries + 1
  const delayMs = retryDelayMs(tries, afterMs, random)
  if (tries >= MAX_TRIES || elapsedMs + delayMs > GIVE_UP_AFTER_MS) return undefined
  return { delayMs, tries, refusals: 0 }
}

/**
 * The try after one at which the gateway refused us. Without an end: what nobody was told must not be taken for told.
 */
export function planAfterRefusal({ refusals }: Pick<PushClaim, 'refusals'>, random: number): NextTry {
  return { delayMs: retryDelayMs(refusals + 1, undefined, random), tries: 0, refusals: refusals + 1 }
}

/**
 * The try after one whose phone was away: for as long as a gateway would have kept it. `waitedMs` is since its newest
 * message came in.
 */
export function planWhilePhoneIsAway(
  claim: Pick<PushClaim, 'refusals'>,
  waitedMs: number,
  random: number,
): NextTry | undefined {
  const next = planAfterRefusal(claim, random)
  return waitedMs + next.delayMs > NOTIFICATION_TTL_MS ? undefined : next
}

/**
 * How many milliseconds to wait after `tries` failed tries: exponential, with jitter so that stations that failed
 * together do not come back together, on top of what the gateway asked for.
 */
function retryDelayMs(tries: number, afterMs: number | undefined, random: number): number {
  const backOff = Math.min(FIRST_DELAY_MS * DELAY_FACTOR ** (tries - 1), MAX_DELAY_MS)
  return Math.round(Math.min(afterMs ?? 0, MAX_AFTER_MS) + backOff * (0.5 + random / 2))
}
