import type { StoredMessage } from './message.ts'
import type { Device, Platform, StationKey } from './station.ts'

/**
 * For how long a device is leased to whoever claimed it where several share the store: three times what a gateway may
 * take.
 */
export const PUSH_LEASE_MS = 30_000

/**
 * Which phones are to be told, and when. A device has an entry from the first message that it was not told of until
 * that is settled, made with the message itself: no message is durable without its notification being due. Of one entry
 * only one notification is ever under way.
 */
export interface PushQueue {
  /**
   * Leases devices that are due to the caller, those first that are due the longest: of each platform `room[platform]`
   * at most. Nobody else is given them until they are settled, put off, or {@link PUSH_LEASE_MS} is over (where one
   * process has the store for itself: until then only). Rejects where the store does; those devices stay due, and
   * {@link onDue} tells when to ask again.
   */
  claim(room: Readonly<Record<Platform, number>>): Promise<readonly PushClaim[]>
  /**
   * The phone was told of everything up to `claim.unpushed.newest`, or never will be. What was stored since is due when
   * its own window ends, or now where that is past. When it rejects, the phone may be told again, and so it may after a
   * crash that comes before another is settled 100 ms later, or none is under way any more.
   */
  settle(claim: PushClaim): Promise<void>
  /**
   * Tries again in `delayMs`: what is stored until then does not bring it forward, and is told with it. The next claim
   * brings `tries` and `refusals` back; with no tries, another notification begins.
   */
  retryLater(
    claim: PushClaim,
    next: { readonly delayMs: number; readonly tries: number; readonly refusals: number },
  ): Promise<void>
  /**
   * Calls `listener` whenever something may be due: at the end of a window, of a delay, or of somebody's lease, some
   * time after a claim that was rejected, and at once for what a stop left. It must not throw.
   */
  onDue(listener: () => void): void
  /**
   * How many devices of a platform have an entry, as far as this process knows without asking. Looks at all of them.
   */
  waiting(platform: Platform): number
  /** No more calls of listeners, and no more timers. What is claimed can still be settled. May be called twice. */
  close(): void
}

/** A device to be notified, leased to whoever claimed it. */
export interface PushClaim {
  readonly station: StationKey
  /** As the store has it at the moment of the claim. */
  readonly device: Pick<Device, 'id' | 'platform' | 'pushToken' | 'tokenDead'>
  readonly unpushed: Unpushed
  /** How many tries were made before; 0 at first. */
  readonly tries: number
  /** Tries in a row at which the gateway refused us. */
  readonly refusals: number
  /** Since the first try of this notification began, in elapsed milliseconds; 0 at first. */
  readonly firstTryMs: number
  /** Since the oldest message behind it came in, in elapsed milliseconds. */
  readonly waitedMs: number
}

/** What a device has not been told about yet. */
export interface Unpushed {
  /** How many messages, at least 1. */
  readonly count: number
  readonly newest: StoredMessage
}
