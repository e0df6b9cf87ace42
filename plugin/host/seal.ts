import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes } from 'node:crypto'
import { deflateSync, inflateSync } from 'node:zlib'

const IV_BYTES = 12
const TAG_BYTES = 16
/**
 * The first byte of zlib's output. No JSON text begins with this byte, so it distinguishes compressed from uncompressed
 * text. Source: RFC 1950, section 2.2.
 */
const PACKED = 0x78

/**
 * Encrypts text that leaves the server, for example in a browser's cookie, so that only the server can read or change
 * it.
 */
export interface Seal {
  /** @param place identifies the session, request or cookie that the text belongs to. `open` needs the same value */
  seal(text: string, place: string): string
  /**
   * Decrypts a sealed text. Returns null if the text was sealed with another `place`, another secret or another
   * purpose, or if it was changed.
   */
  open(sealed: string, place: string): string | null
}

/**
 * Creates a seal with AES-256-GCM (NIST SP 800-38D) and a key by HKDF (RFC 5869). Synchronous, because in Web Crypto's
 * thread pool the two calls of a login took as long as a whole request.
 *
 * @param packs whether to compress first, for JSON that is stored long. Texts without compression can be opened too
 */
export function createSeal(secret: string | Uint8Array, purpose: string, packs = false): Seal {
  const key = createSecretKey(new Uint8Array(hkdfSync('sha256', secret, '', `mesh-companion ${purpose}`, 32)))
  return {
    seal(text, place) {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(place))
      const content = Buffer.concat([cipher.update(packs ? deflateSync(text) : Buffer.from(text)), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), content]).toString('base64url')
    },
    open(sealed, place) {
      const bytes = Buffer.from(sealed, 'base64url')
      const [iv, tag] = [bytes.subarray(0, IV_BYTES), bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES)]
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES })
        decipher.setAAD(Buffer.from(place)).setAuthTag(tag)
        const content = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()])
        return (packs && content[0] === PACKED ? inflateSync(content) : content).toString()
      } catch {
        return null
      }
    },
  }
}
