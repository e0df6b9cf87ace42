import type { AvatarRecord } from './wire/bodies.ts'
import type { PushPayload } from './wire/push-payload.ts'

/**
 * The payload in what the platform hands the app: FCM's `data`, the `userInfo` of iOS, the JSON of a Web Push.
 * Undefined for a push that is none of ours.
 */
export function readPush(data: unknown): PushPayload | undefined {
  return isPayload(data) ? data : undefined
}

function isPayload(data: unknown): data is PushPayload {
  const found: Record<string, unknown> = Object(data)
  return ['fromCall', 'seqId', 'to', 'count', 'collapseId'].every((key) => typeof found[key] === 'string')
}

/**
 * What a push says of its sender's avatar. `unknown`: nothing, or that it has one whose image was too large for the
 * push.
 */
export function pushedAvatar(push: PushPayload): AvatarRecord | 'cleared' | 'unknown' {
  const { fromAvatarIcon: icon = '', fromAvatarImage: image = '', fromAvatarHash: hash } = push
  if (push.fromAvatarCleared === '1') return 'cleared'
  if (hash === undefined) return 'unknown'
  return image !== '' || hash === `icon:${icon}` ? { icon, image, hash } : 'unknown'
}
