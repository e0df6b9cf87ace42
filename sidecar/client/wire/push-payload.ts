/**
 * The data in a notification: in FCM's `data`, beside `aps` on iOS, beside `title` and `body` in Web Push. All values
 * are strings. Source: section Push data payload of the specification.
 */
export interface PushPayload {
  /** Sender of the newest message. It is not called `from`, because FCM reserves that key. */
  readonly fromCall: string
  readonly seqId: string
  /** The station to which the message is addressed. */
  readonly to: string
  /** Number of messages in the notification. */
  readonly count: string
  /** On the phone, a later notification with the same collapse id replaces this one. */
  readonly collapseId: string
  readonly fromAvatarIcon?: string
  readonly fromAvatarHash?: string
  /** The sender's image in base64; absent if it is too large. */
  readonly fromAvatarImage?: string
  /** Present if the sender cleared its avatar. */
  readonly fromAvatarCleared?: '1'
}

/** The JSON in a Web Push message. */
export interface WebPushMessage extends PushPayload {
  readonly title: string
  readonly body: string
}
