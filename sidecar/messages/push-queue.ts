import type { StoredMessage } from './message.ts'
import type { PushResult } from './reports/push-result.ts'
import type { Device, Platform, StationKey } from './station.ts'

/**
 * How long a shared store leases a claimed device to one process, in milliseconds: three times the time limit of a push
 * gateway.
 */
export const PUSH_LEASE_MS = 30_000

/**
 * The devices to notify, and when each is due: one entry per device with new messages. It is written in the message's
 * transaction, so each stored message causes a notification.
 */
export interface PushQueue {
  /**
   * Leases due devices until {@link settle} or {@link retryLater}: the longest due first, at most `free[platform]` of
   * each platform. A shared store ends a lease after {@link PUSH_LEASE_MS}. If this rejects, {@link onDue} tells when
   * to claim again.
   */
  claim(free: Readonly<Record<Platform, number>>): Promise<readonly PushClaim[]>
  /**
   * Ends the claim on a device that was notified, or cannot be. The messages up to `claim.unpushed.newest` get no
   * further notification; newer ones are due after their own coalescing window. The operator sees `result`, if given,
   * as the last result.
   *
   * The phone may be notified again if this rejects, or after a crash before the write, which may wait for other
   * claims.
   */
  settle(claim: PushClaim, result?: PushResult): Promise<void>
  /**
   * Makes the device due again in `delayMs`, not earlier for new messages. The next claim has `tries` and `refusals`; 0
   * `tries` begin a new notification. `result` is as for {@link settle}, but a crash may lose it.
   */
  retryLater(
    claim: PushClaim,
    next: { readonly delayMs: number; readonly tries: number; readonly refusals: number },
    result?: PushResult,
  ): Promise<void>
  /**
   * Calls `listener` when a device may be due: now, when a coalescing window, delay or other process's lease ends, or
   * after a rejected claim. It must not throw.
   */
  onDue(listener: () => void): void
  /**
   * Returns how many devices of a platform have an entry in the queue, as far as this process knows. The call takes
   * time proportional to the number of entries.
   */
  waiting(platform: Platform): number
  /** Stops all timers and all calls of the {@link onDue} listener. Claims can still be settled. Idempotent. */
  close(): void
}

/** A device that is due for a notification, leased to the caller of {@link PushQueue.claim}. */
export interface PushClaim {
  readonly station: StationKey
  /** The device as it was stored when {@link PushQueue.claim} leased it. */
  readonly device: Pick<Device, 'id' | 'platform' | 'pushToken' | 'tokenDead'>
  readonly unpushed: Unpushed
  /** Number of earlier tries of this notification. */
  readonly tries: number
  /**
   * Number of consecutive tries at which the push gateway refused the sidecar's credentials, or the phone was offline.
   */
  readonly refusals: number
  /** Elapsed milliseconds since the first try of this notification began; 0 before the first try. */
  readonly firstTryMs: number
  /** Elapsed milliseconds since the oldest message of this notification arrived. */
  readonly waitedMs: number
}

/** The messages that the device was not notified of yet. */
export interface Unpushed {
  /** Number of messages, at least 1. */
  readonly count: number
  readonly newest: StoredMessage
}
