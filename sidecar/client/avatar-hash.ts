import { sha256 } from './sha-256.ts'

/** A station's own avatar: a built-in icon, an image, or both. A missing part is empty. */
export interface OwnAvatar {
  readonly icon: string
  /** Base64 of a 64x64 PNG, at most 24,000 characters. */
  readonly image: string
}

/** Returns the hash that identifies an avatar. Source: section Avatar of the specification. */
export function avatarHash({ icon, image }: OwnAvatar): string {
  if (image !== '') return sha256(`${icon}\n${image}`)
  return icon === '' ? '' : `icon:${icon}`
}
