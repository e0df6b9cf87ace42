/**
 * A notification for any gateway, built by `notification.ts`. Each adapter shortens it to its gateway's size limit.
 */
export interface Notification {
  readonly title: string
  readonly body: string
  /** At most 64 bytes (APNs). A phone replaces an earlier banner with the same id. */
  readonly collapseId: string
  /** The data payload of the specification, without reserved keys. */
  readonly data: Readonly<Record<string, string>>
}

/**
 * The outcome of one notification. `unasked` means that nothing was sent, so the outcome says nothing about the
 * gateway.
 */
export type PushOutcome =
  | { readonly kind: 'accepted' }
  /** The token is dead. Nothing more is sent to it until the device registers a token again. */
  | { readonly kind: 'token_gone'; readonly reason: string; readonly unasked?: true }
  /** A temporary fault. `afterMs` is the delay that the gateway requests, if its client library passes it on. */
  | { readonly kind: 'try_later'; readonly reason: string; readonly afterMs?: number }
  /**
   * Nothing was sent, because too many notifications to the same push service are in flight. The caller sends the
   * notification after `afterMs`, and does not count this as a try.
   */
  | { readonly kind: 'busy'; readonly reason: string; readonly afterMs: number; readonly unasked: true }
  /** The phone is offline, and this gateway keeps no notifications for later. */
  | { readonly kind: 'phone_away'; readonly reason: string }
  /**
   * The gateway refuses the sidecar: an administrator must correct credentials, configuration, clock or installation.
   * Notifications wait until then, without a limit. `reason` says what to correct.
   */
  | { readonly kind: 'unauthorized'; readonly reason: string }
  /** The notification itself is wrong, so a retry cannot help. */
  | { readonly kind: 'refused'; readonly reason: string; readonly unasked?: true }

/** The outcomes of a notification that was sent but not accepted. */
export type PushFailure = Exclude<PushOutcome, { kind: 'accepted' | 'busy' }>

/** A push gateway. */
export interface PushGateway {
  /** Sends one notification. Never rejects, and settles within 10 seconds. */
  send(pushToken: string, notification: Notification): Promise<PushOutcome>
  /**
   * Tests whether the gateway would accept notifications, without notifying a phone. The outcome is `accepted` or
   * `token_gone` if it would, otherwise as for {@link send}. Absent for a gateway where the test would need the token
   * of a phone.
   */
  verify?(): Promise<PushOutcome>
  close(): Promise<void>
}
