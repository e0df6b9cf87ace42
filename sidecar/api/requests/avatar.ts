import { createHash } from 'node:crypto'
import { pngFault } from './png.ts'

/** The avatar members of a registration; absent members are undefined or null. */
export interface AvatarFields {
  readonly avatarUpdate?: boolean | null | undefined
  readonly avatarIcon?: string | null | undefined
  /** Base64 of a 64x64 PNG. */
  readonly avatarImage?: string | null | undefined
  readonly avatarHash?: string | null | undefined
}

export type AvatarDecision =
  /** The request has no avatar: the stored one stays. */
  | { readonly kind: 'keep' }
  /** The new avatar; cleared if all three members are empty. */
  | { readonly kind: 'replace'; readonly icon: string; readonly image: string; readonly hash: string }
  /** `reason` is a sentence for the app's developer. */
  | { readonly kind: 'invalid'; readonly member: keyof AvatarFields; readonly reason: string }

/** Characters of base64, not bytes. Source: Avatar, Limits. */
const MAX_IMAGE_CHARACTERS = 24_000
/** The sidecar's own limit: every notification of the station's messages has the name, and may have only 4 KB. */
const MAX_ICON_CHARACTERS = 64

/**
 * Decides what a registration does to the station's avatar. Absent icon, image and hash count as empty, but an absent
 * hash is not compared.
 */
export function decideAvatar(fields: AvatarFields): AvatarDecision {
  // `avatarUpdate` says that the request has the whole avatar. Without it, icon and image are ignored rather than
  // refused: the hash in the answer tells the client which avatar is stored, and a refused registration would end its
  // notifications.
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

/** Identity of an avatar. Source: Avatar, hash rules. */
export function avatarHash(icon: string, image: string): string {
  if (image !== '') return createHash('sha256').update(`${icon}\n${image}`).digest('hex')
  return icon === '' ? '' : `icon:${icon}`
}

function iconFault(icon: string): string | undefined {
  if (icon.length > MAX_ICON_CHARACTERS) return `An icon's name has at most ${MAX_ICON_CHARACTERS} characters.`
  // A line break would make two different avatars hash alike.
  if (/\p{Cc}/u.test(icon)) return "An icon's name has no control characters."
  // Half of a surrogate pair would be in the answers to every receiver, and strict JSON parsers refuse those.
  return /\p{Cs}/u.test(icon)
    ? "An icon's name must be well-formed Unicode, but it has half of a surrogate pair."
    : undefined
}

function imageFault(image: string): string | undefined {
  if (image.length > MAX_IMAGE_CHARACTERS) return `An image has at most ${MAX_IMAGE_CHARACTERS} characters.`
  if (image.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(image)) return 'It is not base64 (RFC 4648, section 4).'
  return pngFault(Buffer.from(image, 'base64'))
}
