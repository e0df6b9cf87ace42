/**
 * The data of a notification: FCM's `data`, beside `aps` on iOS, beside `title` and `body` by Web Push. Values are
 * texts, numbers too. Source: Push data payload.
 */
export interface PushPayload {
  /** Sender of the newest message; the key `from` is reserved. */
  readonly fromCall: string
  readonly seqId: string
  /** The station that the message is for. */
  readonly to: string
  /** How many messages the notification stands for. */
  readonly count: string
  /** A later notification with the same replaces this one. */
  readonly collapseId: string
  readonly fromAvatarIcon?: string
  readonly fromAvatarHash?: string
  /** Base64; left out where it is too large. */
  readonly fromAvatarImage?: string
  /** The sender took its avatar away. */
  readonly fromAvatarCleared?: '1'
}

/** What a Web Push brings, as JSON. */
export interface WebPushMessage extends PushPayload {
  readonly title: string
  readonly body: string
}
