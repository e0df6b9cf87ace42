import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes } from 'node:crypto'
import { deflateSync, inflateSync } from 'node:zlib'

const IV_BYTES = 12
const TAG_BYTES = 16
/** What zlib packed begins so, and no JSON does. Source: RFC 1950, section 2.2. */
const PACKED = 0x78

/**
 * Seals text so that it can lie with the browser: nobody reads or changes it there, and it opens in its own place
 * alone.
 */
export interface Seal {
  /** @param place what the text belongs to, such as a session; the sealed text does not open for another one */
  seal(text: string, place: string): string
  /** Null when it was sealed for another place, with another secret or purpose, or not by us. */
  open(sealed: string, place: string): string | null
}

/**
 * AES-256-GCM (NIST SP 800-38D) under a key that HKDF (RFC 5869) makes of the secret for this purpose. By
 * `node:crypto`, which does it within the call: twice a login, Web Crypto's round trips through the thread pool cost as
 * much as a request.
 *
 * @param packs for JSON that is kept for long: it is packed first, and opens where an older version sealed it as it
 *   was, too
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
