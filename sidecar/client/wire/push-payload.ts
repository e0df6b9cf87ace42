/**
 * The data of a notification: FCM's `data`; beside `aps` on iOS; beside `title` and `body` with Web Push. All values
 * are strings, also numbers. Source: Push data payload.
 */
export interface PushPayload {
  /** Sender of the newest message; the key `from` is reserved. */
  readonly fromCall: string
  readonly seqId: string
  /** The station that the message is for. */
  readonly to: string
  /** Number of messages in the notification. */
  readonly count: string
  /** A later notification with the same value replaces this one. */
  readonly collapseId: string
  readonly fromAvatarIcon?: string
  readonly fromAvatarHash?: string
  /** Base64; absent if it is too large. */
  readonly fromAvatarImage?: string
  /** The sender cleared its avatar. */
  readonly fromAvatarCleared?: '1'
}

/** The JSON of a Web Push. */
export interface WebPushMessage extends PushPayload {
  readonly title: string
  readonly body: string
}
