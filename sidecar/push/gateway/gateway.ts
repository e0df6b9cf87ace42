/**
 * One notification as a gateway gets it, made by `notification.ts`; each adapter fits it to its gateway's size limit.
 */
export interface Notification {
  readonly title: string
  readonly body: string
  /** At most 64 bytes (APNs); the phone replaces an earlier banner with the same id. */
  readonly collapseId: string
  /** The data payload of the specification; never a reserved key. */
  readonly data: Readonly<Record<string, string>>
}

/**
 * The outcome of one notification. If it is `unasked`, the gateway was not asked: the outcome says nothing about the
 * gateway.
 */
export type PushOutcome =
  | { readonly kind: 'accepted' }
  /** The gateway knows the token no longer: stop pushing to it until the station registers one again. */
  | { readonly kind: 'token_gone'; readonly reason: string; readonly unasked?: true }
  /** A passing fault; `afterMs` is the gateway's own delay, where its client library hands it over. */
  | { readonly kind: 'try_later'; readonly reason: string; readonly afterMs?: number }
  /**
   * Too many notifications of the same push service are in flight. This one comes back after `afterMs`; that is no try.
   */
  | { readonly kind: 'busy'; readonly reason: string; readonly afterMs: number; readonly unasked: true }
  /** The gateway works, and has nobody to hand it to: it keeps nothing for a phone that is off line. */
  | { readonly kind: 'phone_away'; readonly reason: string }
  /**
   * The gateway refuses us, whatever we send: somebody has to mend credentials, configuration, clock or installation.
   * What waits then is sent, however late. `reason` says what to mend.
   */
  | { readonly kind: 'unauthorized'; readonly reason: string }
  /** The notification itself is at fault: trying again cannot help. */
  | { readonly kind: 'refused'; readonly reason: string; readonly unasked?: true }

/** The gateway's answer, or its silence, if it did not accept the notification. */
export type PushFailure = Exclude<PushOutcome, { kind: 'accepted' | 'busy' }>

/** A push gateway behind the one verb that we need. */
export interface PushGateway {
  /** Never rejects, and settles within 10 seconds. */
  send(pushToken: string, notification: Notification): Promise<PushOutcome>
  /**
   * Asks whether notifications of ours would be taken, and tells no phone: `accepted` or `token_gone` when they would.
   * Otherwise as {@link send}. Absent where nothing can be asked without a phone's own token.
   */
  verify?(): Promise<PushOutcome>
  close(): Promise<void>
}
