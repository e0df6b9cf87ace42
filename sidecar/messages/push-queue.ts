import type { StoredMessage } from './message.ts'
import type { PushResult } from './reports/push-result.ts'
import type { Device, Platform, StationKey } from './station.ts'

/**
 * How long a shared store leases a claimed device to one process, in milliseconds: three times the time limit of a push
 * gateway.
 */
export const PUSH_LEASE_MS = 30_000

/**
 * The devices to notify, and when each is due. A device has one entry as long as it has messages of which it was not
 * notified yet. The store writes the entry and the message in one transaction, so each stored message causes a
 * notification. At most one notification per entry is in flight.
 */
export interface PushQueue {
  /**
   * Leases due devices to the caller: the longest due first, at most `free[platform]` of each platform. No other caller
   * gets them until the caller calls {@link settle} or {@link retryLater}. With a shared store, a lease also ends after
   * {@link PUSH_LEASE_MS}. Rejects if the store fails. The devices then stay due, and the {@link onDue} listener is
   * called when it is time to claim again.
   */
  claim(free: Readonly<Record<Platform, number>>): Promise<readonly PushClaim[]>
  /**
   * Ends the claim on a device. Call when the phone was notified, or when it cannot be notified. The messages up to
   * `claim.unpushed.newest` get no further notification. Newer messages are due when their own coalescing window ends,
   * or now if it has ended. The operator sees `result` as the device's last result; without it, the former result
   * stays.
   *
   * The phone may be notified again if this rejects, or if the process crashes before the result is written. While
   * other claims are in flight, the store may delay the write to write several results together.
   */
  settle(claim: PushClaim, result?: PushResult): Promise<void>
  /**
   * Makes the device due again in `delayMs`. Messages that are stored meanwhile do not make the device due earlier, but
   * become part of the postponed notification. The next claim has the given `tries` and `refusals`. If `tries` is 0, it
   * begins a new notification. `result` is as for {@link settle}, but a crash may lose it.
   */
  retryLater(
    claim: PushClaim,
    next: { readonly delayMs: number; readonly tries: number; readonly refusals: number },
    result?: PushResult,
  ): Promise<void>
  /**
   * Calls `listener` whenever a device may be due. This is the case when a coalescing window, a delay or the lease of
   * another process ends, and some time after a rejected claim. If devices are due already, it calls `listener` at
   * once. The listener must not throw.
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
