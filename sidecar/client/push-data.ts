import type { AvatarRecord } from './wire/bodies.ts'
import type { PushPayload } from './wire/push-payload.ts'

/**
 * Returns the payload of a push from FCM's `data`, the `userInfo` of iOS, or the JSON of a Web Push. Undefined if it is
 * not from the sidecar.
 */
export function readPush(data: unknown): PushPayload | undefined {
  return isPayload(data) ? data : undefined
}

function isPayload(data: unknown): data is PushPayload {
  const values: Record<string, unknown> = Object(data)
  return ['fromCall', 'seqId', 'to', 'count', 'collapseId'].every((key) => typeof values[key] === 'string')
}

/**
 * Returns the sender's avatar from a push. Returns `unknown` if the push contains none, for example because the image
 * was too large.
 */
export function pushedAvatar(push: PushPayload): AvatarRecord | 'cleared' | 'unknown' {
  const { fromAvatarIcon: icon = '', fromAvatarImage: image = '', fromAvatarHash: hash } = push
  if (push.fromAvatarCleared === '1') return 'cleared'
  if (hash === undefined) return 'unknown'
  return image !== '' || hash === `icon:${icon}` ? { icon, image, hash } : 'unknown'
}
