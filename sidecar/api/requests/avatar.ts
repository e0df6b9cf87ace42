import { createHash } from 'node:crypto'
import { pngFault } from './png.ts'

/** The avatar members of a registration request. An absent member is undefined or null. */
export interface AvatarFields {
  readonly avatarUpdate?: boolean | null | undefined
  readonly avatarIcon?: string | null | undefined
  /** The avatar's image: a 64x64 PNG in base64. */
  readonly avatarImage?: string | null | undefined
  readonly avatarHash?: string | null | undefined
}

export type AvatarDecision =
  /** The request contains no avatar, so the stored one stays. */
  | { readonly kind: 'keep' }
  /** The request replaces the avatar. If icon, image and hash are empty, it clears the avatar. */
  | { readonly kind: 'replace'; readonly icon: string; readonly image: string; readonly hash: string }
  /** `reason` is a sentence for the app's developer. */
  | { readonly kind: 'invalid'; readonly member: keyof AvatarFields; readonly reason: string }

/**
 * Limit of an image, in base64 characters rather than bytes. Source: sections Avatar and Limits of the specification.
 */
const MAX_IMAGE_CHARACTERS = 24_000
/**
 * Limit of an icon's name, in characters. The sidecar sets this limit, because each notification includes the sender's
 * icon and may have only 4 KB.
 */
const MAX_ICON_CHARACTERS = 64

/**
 * Decides how a registration changes the station's avatar. An absent icon or image is treated as empty. A hash in the
 * request must be that of its icon and image.
 */
export function decideAvatar(fields: AvatarFields): AvatarDecision {
  // Without `avatarUpdate`, the avatar is incomplete, and ignored. A refusal would end the station's notifications. The
  // answer's hash tells the client which avatar is stored.
  if (fields.avatarUpdate !== true) return { kind: 'keep' }
  const icon = fields.avatarIcon ?? ''
  const image = fields.avatarImage ?? ''
  const iconReason = iconFault(icon)
  if (iconReason) return { kind: 'invalid', member: 'avatarIcon', reason: iconReason }
  const imageReason = image === '' ? undefined : imageFault(image)
  if (imageReason) return { kind: 'invalid', member: 'avatarImage', reason: imageReason }
  const hash = avatarHash(icon, image)
  if ((fields.avatarHash ?? hash) !== hash)
    return {
      kind: 'invalid',
      member: 'avatarHash',
      reason: 'It is not the hash of the icon and image in the same request.',
    }
  return { kind: 'replace', icon, image, hash }
}

/** Returns the hash that identifies an avatar. Source: section Avatar of the specification. */
export function avatarHash(icon: string, image: string): string {
  if (image !== '') return createHash('sha256').update(`${icon}\n${image}`).digest('hex')
  return icon === '' ? '' : `icon:${icon}`
}

function iconFault(icon: string): string | undefined {
  if (icon.length > MAX_ICON_CHARACTERS) return `An icon's name must have at most ${MAX_ICON_CHARACTERS} characters.`
  // If an icon's name could contain a line break, two different avatars could have the same hash.
  if (/\p{Cc}/u.test(icon)) return "An icon's name must have no control characters."
  // Every answer with this avatar would contain an unpaired surrogate, and strict JSON parsers would refuse the answer.
  return /\p{Cs}/u.test(icon)
    ? "An icon's name must be well-formed Unicode, but it has half of a surrogate pair."
    : undefined
}

function imageFault(image: string): string | undefined {
  if (image.length > MAX_IMAGE_CHARACTERS) return `An image must have at most ${MAX_IMAGE_CHARACTERS} characters.`
  if (image.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(image)) return 'It is not base64 (RFC 4648, section 4).'
  return pngFault(Buffer.from(image, 'base64'))
}
