import { textOf } from '../../aprs/message.ts'
import type { PushPayload } from '../../client/wire/push-payload.ts'
import type { Unpushed } from '../../messages/push-queue.ts'
import type { AvatarRecord, StationKey } from '../../messages/store.ts'
import type { Notification } from './gateway.ts'

/** Size limit of a notification in bytes, for every gateway. Source: section Limits of the specification. */
export const MAX_NOTIFICATION_BYTES = 4096

/**
 * How long a gateway keeps a notification for a phone that is offline, in milliseconds. A phone that is offline for
 * longer gets its messages by sync.
 */
export const NOTIFICATION_TTL_MS = 24 * 60 * 60 * 1000

/** The notification that {@link PushGateway.verify} sends. No phone gets it. */
export const TRIAL: Notification = { title: 'Check', body: 'Nobody gets this.', collapseId: 'check', data: {} }

/**
 * The avatar of a message's sender. `cleared`: the sender cleared its avatar. `none`: the sender never set one, or is
 * not registered.
 */
export type SenderAvatar = AvatarRecord | 'cleared' | 'none'

/**
 * Keys that a data payload must not have. FCM refuses them, and in an APNs payload the data keys stand beside the key
 * `aps`.
 */
type ReservedKey =
  | 'from'
  | 'notification'
  | 'message_type'
  | 'collapse_key'
  | 'aps'
  | `google${string}`
  | `gcm${string}`

/** The data payload. If {@link PushPayload} had a reserved key, building the data would be a compile error. */
type Data = { readonly [Key in keyof PushPayload as Key extends ReservedKey ? never : Key]: PushPayload[Key] }
type AvatarData = Partial<Data>

const MAX_INLINE_IMAGE_LENGTH = 3000
const ELLIPSIS = '…'

/** Builds the notification of a station's unpushed messages. {@link fitNotification} then applies the size limit. */
export function buildNotification(station: StationKey, unpushed: Unpushed, avatar: SenderAvatar): Notification {
  const { count, newest } = unpushed
  const collapseId = `aprs-${station}`
  const data = {
    fromCall: newest.from,
    seqId: newest.seqId,
    to: newest.to,
    count: String(count),
    collapseId,
    ...avatarData(avatar),
  } satisfies Data
  if (count === 1)
    return { title: newest.from, body: readable(newest.text) || 'Message without text', collapseId, data }
  return {
    title: `For ${newest.to}, latest from ${newest.from}`,
    body: `${count} new APRS messages`,
    collapseId,
    data,
  }
}

function avatarData(avatar: SenderAvatar): AvatarData {
  if (avatar === 'none') return {}
  if (avatar === 'cleared') return { fromAvatarCleared: '1' }
  return {
    fromAvatarHash: avatar.hash,
    ...(avatar.icon && { fromAvatarIcon: avatar.icon }),
    ...(avatar.image && avatar.image.length <= MAX_INLINE_IMAGE_LENGTH && { fromAvatarImage: avatar.image }),
  }
}

/**
 * Decodes a text for a banner. Replaces control characters, which look like boxes, and bidirectional overrides, which
 * could disguise it.
 */
function readable(bytes: Buffer): string {
  return textOf(bytes)
    .text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069\ufeff]+/gu, ' ')
    .trim()
}

/**
 * Shortens a notification to `limit` bytes, as `measureBytes` counts them. Drops the inline avatar image first (the
 * phone still gets its hash), then cuts the body and adds `…`. The other parts are always far below the limit.
 */
export function fitNotification(
  notification: Notification,
  measureBytes: (notification: Notification) => number,
  limit: number = MAX_NOTIFICATION_BYTES,
): Notification {
  if (measureBytes(notification) <= limit) return notification
  const { fromAvatarImage: _, ...data } = notification.data
  const bare = { ...notification, data }
  if (measureBytes(bare) <= limit) return bare

  // The cut is between graphemes, because half of an emoji would look like another emoji or a box.
  const characters = Array.from(new Intl.Segmenter().segment(bare.body), ({ segment }) => segment)
  const shortened = (length: number) => ({ ...bare, body: characters.slice(0, length).join('').trimEnd() + ELLIPSIS })
  let fits = 0
  let tooLong = characters.length
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >>> 1
    if (measureBytes(shortened(middle)) <= limit) fits = middle
    else tooLong = middle
  }
  return shortened(fits)
}
