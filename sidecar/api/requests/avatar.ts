import { createHash } from 'node:crypto'
import { pngFault } from './png.ts'

/** The avatar members of a register call; absent members are undefined or null. */
export interface AvatarFields {
  readonly avatarUpdate?: boolean | null | undefined
  readonly avatarIcon?: string | null | undefined
  /** Base64 of a 64x64 PNG. */
  readonly avatarImage?: string | null | undefined
  readonly avatarHash?: string | null | undefined
}

export type AvatarDecision =
  /** The call says nothing of the avatar: it stays as it is. */
  | { readonly kind: 'keep' }
  /** This is the avatar from now on; cleared where all three are empty. */
  | { readonly kind: 'replace'; readonly icon: string; readonly image: string; readonly hash: string }
  /** `reason` is a sentence for the caller of the API. */
  | { readonly kind: 'invalid'; readonly member: keyof AvatarFields; readonly reason: string }

/** Characters of base64, not bytes. Source: Avatar, Limits. */
const MAX_IMAGE_CHARACTERS = 24_000
/** Ours: the name goes into every notification of a message from the station, and those have 4 KB. */
const MAX_ICON_CHARACTERS = 64

/**
 * What a register call wants with the station's avatar. Absent icon, image and hash count as empty, but an absent hash
 * is not compared.
 */
export function decideAvatar(fields: AvatarFields): AvatarDecision {
  // `avatarUpdate` is what says that the whole avatar is in the call. Without it icon and image are passed over rather
  // than refused: the hash in the answer tells the client what is held, and a refused call would cost it its pushes.
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
      reason: 'It is not the hash of the icon and image that came with it.',
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
  // Half of a surrogate pair would go into the answers of every receiver, and strict JSON parsers refuse those.
  return /\p{Cs}/u.test(icon) ? "An icon's name is well-formed Unicode: it has half of a surrogate pair." : undefined
}

function imageFault(image: string): string | undefined {
  if (image.length > MAX_IMAGE_CHARACTERS) return `An image has at most ${MAX_IMAGE_CHARACTERS} characters.`
  if (image.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(image)) return 'It is not base64 (RFC 4648, section 4).'
  return pngFault(Buffer.from(image, 'base64'))
}
