import type { StoredMessage } from './message.ts'
import type { PushResult } from './reports/push-result.ts'
import type { Device, Platform, StationKey } from './station.ts'

/** How long a shared store leases a claimed device: three times the time limit of a push gateway. */
export const PUSH_LEASE_MS = 30_000

/**
 * The devices to notify, and when each is due. A device has one entry from its first unnotified message until that
 * notification is settled. The entry is stored in the same transaction as the message, so no durable message lacks its
 * notification. Only one notification per entry is in flight at a time.
 */
export interface PushQueue {
  /**
   * Leases due devices to the caller: the longest due first, at most `free[platform]` of each platform. No other caller
   * gets them until they are settled or retried later. With a shared store, the lease also ends after {@link
   * PUSH_LEASE_MS}. If the store rejects, this rejects too. The devices then stay due, and {@link onDue} notifies the
   * caller when to claim again.
   */
  claim(free: Readonly<Record<Platform, number>>): Promise<readonly PushClaim[]>
  /**
   * Ends a claim: the phone was notified of everything up to `claim.unpushed.newest`, or never will be. Messages newer
   * than that are due when their own coalescing window ends, or now if it has ended. `result` becomes the device's last
   * result for the operator; without it, the former one stays.
   *
   * The phone may be notified again if this rejects, or if the process crashes before the result is written. While
   * other claims are in flight, that write may wait, so that several results are written together.
   */
  settle(claim: PushClaim, result?: PushResult): Promise<void>
  /**
   * Makes the device due again in `delayMs`. Messages stored until then do not make it due earlier. They join the
   * postponed notification. The next claim has these `tries` and `refusals`. With 0 tries, it starts a new
   * notification. `result` is as for {@link settle}, but may be lost in a crash.
   */
  retryLater(
    claim: PushClaim,
    next: { readonly delayMs: number; readonly tries: number; readonly refusals: number },
    result?: PushResult,
  ): Promise<void>
  /**
   * Calls `listener` whenever a device may be due. That is when a window, a delay or another process's lease ends, and
   * some time after a rejected claim. If devices were due when the sidecar last stopped, calls it at once. The listener
   * must not throw.
   */
  onDue(listener: () => void): void
  /**
   * Returns how many devices of a platform have an entry, as far as this process knows. Takes time in proportion to the
   * number of entries.
   */
  waiting(platform: Platform): number
  /** Stops all calls of listeners and all timers. Claims can still be settled. Idempotent. */
  close(): void
}

/** A due device, leased to the caller that claimed it. */
export interface PushClaim {
  readonly station: StationKey
  /** The device as stored at the moment of the claim. */
  readonly device: Pick<Device, 'id' | 'platform' | 'pushToken' | 'tokenDead'>
  readonly unpushed: Unpushed
  /** Number of earlier tries of this notification. */
  readonly tries: number
  /** Number of consecutive tries at which the push gateway refused the sidecar. */
  readonly refusals: number
  /** Elapsed milliseconds since the first try of this notification began; 0 before the first try. */
  readonly firstTryMs: number
  /** Elapsed milliseconds since the oldest message of this notification arrived. */
  readonly waitedMs: number
}

/** The messages that a device was not notified of yet. */
export interface Unpushed {
  /** Number of messages, at least 1. */
  readonly count: number
  readonly newest: StoredMessage
}
