/**
 * A notification for any push gateway, built by `notification.ts`. Each gateway's adapter shortens it to the size limit
 * of its gateway.
 */
export interface Notification {
  readonly title: string
  readonly body: string
  /**
   * Id of a notification. It replaces an earlier one with the same id on the phone. It has at most 64 bytes, the limit
   * of APNs.
   */
  readonly collapseId: string
  /** The data for the app, as in `PushPayload`, without keys that gateways reserve. */
  readonly data: Readonly<Record<string, string>>
}

/**
 * The outcome of sending one notification. If `unasked` is set, the gateway was not contacted, so the outcome does not
 * show whether the gateway works.
 */
export type PushOutcome =
  | { readonly kind: 'accepted' }
  /** The token is dead. Nothing more is sent to the device until it registers a token again. */
  | { readonly kind: 'token_gone'; readonly reason: string; readonly unasked?: true }
  /** A temporary fault. `afterMs` is the delay that the gateway requests, if its client library passes it on. */
  | { readonly kind: 'try_later'; readonly reason: string; readonly afterMs?: number }
  /** Too many notifications to this push service are in flight. Send it again after `afterMs`, not counted as a try. */
  | { readonly kind: 'busy'; readonly reason: string; readonly afterMs: number; readonly unasked: true }
  /** The phone is offline, and its push service does not store notifications for later. */
  | { readonly kind: 'phone_away'; readonly reason: string }
  /**
   * The gateway refuses the sidecar until an administrator corrects what `reason` names. Notifications wait without a
   * time limit.
   */
  | { readonly kind: 'unauthorized'; readonly reason: string }
  /** The gateway refuses the notification itself, so a retry cannot help. */
  | { readonly kind: 'refused'; readonly reason: string; readonly unasked?: true }

/** The outcomes of a notification that was sent but not accepted. */
export type PushFailure = Exclude<PushOutcome, { kind: 'accepted' | 'busy' }>

/** A push gateway, such as FCM, through which the sidecar notifies phones of one platform. */
export interface PushGateway {
  /** Sends one notification. Never rejects, and settles within 10 seconds. */
  send(pushToken: string, notification: Notification): Promise<PushOutcome>
  /**
   * Tests whether the gateway would accept notifications, without notifying a phone. If so, the outcome is `accepted`
   * or `token_gone`. Absent for Web Push, where a test needs a phone's subscription.
   */
  verify?(): Promise<PushOutcome>
  close(): Promise<void>
}
