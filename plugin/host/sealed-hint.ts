import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const IV_BYTES = 12
const TAG_BYTES = 16

/** Seals an ID token so that it can lie with the browser: nobody reads it there, and it opens for the session that it belongs to alone. */
export interface HintSeal {
  seal(idToken: string, handle: string): string
  /** Null when it was sealed for another session, with another secret, or not by us. */
  open(sealed: string, handle: string): string | null
}

export function createHintSeal(secret: string): HintSeal {
  const key = new Uint8Array(hkdfSync('sha256', secret, '', 'mesh-companion logout hint', 32))
  return {
    seal(idToken, handle) {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(handle))
      const content = Buffer.concat([cipher.update(idToken, 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), content]).toString('base64url')
    },
    open(sealed, handle) {
      const bytes = Buffer.from(sealed, 'base64url')
      const [iv, tag] = [bytes.subarray(0, IV_BYTES), bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES)]
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES })
        decipher.setAAD(Buffer.from(handle)).setAuthTag(tag)
        return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
      } catch {
        return null
      }
    },
  }
}
