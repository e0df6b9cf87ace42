import { textOf } from '../../aprs/message.ts'
import type { PushPayload } from '../../client/wire/push-payload.ts'
import type { Unpushed } from '../../messages/push-queue.ts'
import type { AvatarRecord, StationKey } from '../../messages/store.ts'
import type { Notification } from './gateway.ts'

/** What both gateways take at most, in bytes. Source: Limits. */
export const MAX_NOTIFICATION_BYTES = 4096

/** How long a gateway keeps a notification for a phone that is away; whoever is away longer finds it all by sync. */
export const NOTIFICATION_TTL_MS = 24 * 60 * 60 * 1000

/** What a gateway is asked about that is not to tell anybody anything. */
export const TRIAL: Notification = { title: 'Check', body: 'Nobody gets this.', collapseId: 'check', data: {} }

/** The avatar of a message's sender: stored, taken away by its owner, or none that we know of. */
export type SenderAvatar = AvatarRecord | 'cleared' | 'none'

/** One such key and FCM refuses the whole message; `aps` is where the data keys' neighbours stand on iOS. */
type ReservedKey =
  | 'from'
  | 'notification'
  | 'message_type'
  | 'collapse_key'
  | 'aps'
  | `google${string}`
  | `gcm${string}`

/**
 * Has no member for a reserved key, so that adding one to {@link PushPayload} does not compile where the data is made.
 */
type Data = { readonly [Key in keyof PushPayload as Key extends ReservedKey ? never : Key]: PushPayload[Key] }
type AvatarData = Partial<Data>

const MAX_INLINE_IMAGE_LENGTH = 3000
const ELLIPSIS = '…'

/** What `station`'s phone is told about what it has not seen yet. Not yet held to the size limit. */
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

/** A message's text for a banner, where control characters show as boxes and bidi overrides could disguise it. */
function readable(bytes: Buffer): string {
  return textOf(bytes)
    .text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069\ufeff]+/gu, ' ')
    .trim()
}

/**
 * The notification within `limit` bytes, as `measureBytes` counts them for one gateway: the inline image goes first
 * (the phone has its hash and falls back to initials), then the end of the body, where `…` says so. What it cannot
 * shorten (calls, icon name, hash) is far below any limit.
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

  // Whole characters as people see them: half of an emoji would be another one, or a box.
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
