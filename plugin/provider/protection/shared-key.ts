import { createHash } from 'node:crypto'

/**
 * The key for symmetric encryption between a client and its IdP: the first bits of the hash of the client secret.
 * Source: OpenID Connect Core 1.0, section 10.2.
 *
 * @param alg key management algorithm: `dir` or one with the key's bits in its name
 * @param enc content encryption algorithm
 */
export function sharedKey(secret: string, alg: string, enc: string): Uint8Array {
  const bytes = (alg === 'dir' ? contentBits(enc) : bitsIn(alg)) / 8
  const hash = bytes <= 32 ? 'sha256' : bytes <= 48 ? 'sha384' : 'sha512'
  return createHash(hash).update(secret).digest().subarray(0, bytes)
}

// A128CBC-HS256 takes two keys of 128 bits each, one to encrypt and one to authenticate.
function contentBits(enc: string): number {
  return enc.includes('CBC') ? bitsIn(enc) * 2 : bitsIn(enc)
}

function bitsIn(name: string): number {
  return Number(/^A(128|192|256)/.exec(name)?.[1])
}
