import { createHash } from 'node:crypto'
import { CompactEncrypt, type CompactJWEHeaderParameters, compactDecrypt, type JWK } from 'jose'
import { type JsonObject, membersOf } from '../../config/json/json-object.ts'
import { type ClientIdentity, secretOf } from '../authentication/client-signature.ts'

/** The algorithms that encrypt one kind of token: for key management (`alg`) and for the content (`enc`). */
export interface Encryption {
  readonly alg: string
  readonly enc: string
}

/**
 * Returns the algorithms for one kind of token, if configured.
 *
 * @param enc default by OpenID Connect Dynamic Client Registration 1.0, section 2
 */
export function encryptionOf(alg: string | undefined, enc = 'A128CBC-HS256'): Encryption | undefined {
  return alg === undefined ? undefined : { alg, enc }
}

/** Whether a token has the five parts of an encrypted token. */
export function isEncrypted(token: string): boolean {
  return token.split('.').length === 5
}

/**
 * Decrypts a token for this client with exactly the configured algorithms. Without a key id, tries each suitable key,
 * because keys may be rotated.
 *
 * @throws Error if that fails
 */
export async function decrypt(token: string, { alg, enc }: Encryption, { client, credentials }: ClientIdentity) {
  const allowed = { keyManagementAlgorithms: [alg], contentEncryptionAlgorithms: [enc] }
  const { kid } = headerOf(token)
  const keys = isShared(alg)
    ? [sharedKey(secretOf(client), alg, enc)]
    : credentials.keys
        .filter(
          ({ decrypts, kid: keyId }) =>
            decrypts.includes(alg) && (kid === undefined || keyId === null || keyId === kid),
        )
        .map(({ privateJwk }) => privateJwk)
  let failure: unknown = new Error('no private key matches the key that the token was encrypted with')
  for (const key of keys) {
    try {
      return new TextDecoder().decode((await compactDecrypt(token, key, allowed)).plaintext)
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

/**
 * Encrypts a text for an IdP.
 *
 * @param keys loads the published keys of the IdP
 * @throws Error if the IdP has no suitable key
 */
export async function encrypt(
  text: string,
  { alg, enc }: Encryption,
  client: ClientIdentity['client'],
  keys: () => Promise<readonly JWK[]>,
): Promise<string> {
  const shared = isShared(alg) ? sharedKey(secretOf(client), alg, enc) : undefined
  const recipient = shared ? undefined : (await keys()).find((key) => isRecipient(key, alg))
  const key = shared ?? recipient
  if (!key) throw new Error(`the IdP publishes no key for ${alg}`)
  const header: CompactJWEHeaderParameters = {
    alg,
    enc,
    cty: 'JWT',
    ...(recipient?.kid === undefined ? {} : { kid: recipient.kid }),
  }
  return new CompactEncrypt(new TextEncoder().encode(text)).setProtectedHeader(header).encrypt(key)
}

function isRecipient({ kty, crv = '', use = 'enc', alg: keyAlgorithm }: JWK, alg: string): boolean {
  if (use !== 'enc' || (keyAlgorithm !== undefined && keyAlgorithm !== alg)) return false
  if (alg.startsWith('RSA')) return kty === 'RSA'
  return (kty === 'EC' && ['P-256', 'P-384', 'P-521'].includes(crv)) || (kty === 'OKP' && crv === 'X25519')
}

/** Whether a key management algorithm uses a key that this server and the IdP both derive from the client secret. */
function isShared(alg: string): boolean {
  return alg === 'dir' || /^A\d/.test(alg)
}

function headerOf(token: string): JsonObject {
  return membersOf(JSON.parse(Buffer.from(token.split('.', 1)[0] ?? '', 'base64url').toString()))
}

/**
 * Derives the key for symmetric encryption from the client secret. Source: OpenID Connect Core 1.0, section 10.2.
 *
 * @param alg `dir`, or an algorithm with the key length in its name
 */
function sharedKey(secret: string, alg: string, enc: string): Uint8Array {
  const bytes = (alg === 'dir' ? contentBits(enc) : bitsIn(alg)) / 8
  const hash = bytes <= 32 ? 'sha256' : bytes <= 48 ? 'sha384' : 'sha512'
  return createHash(hash).update(secret).digest().subarray(0, bytes)
}

// Returns the key length in bits. A128CBC-HS256 needs two keys of 128 bits each, one to encrypt and one to
// authenticate.
function contentBits(enc: string): number {
  return enc.includes('CBC') ? bitsIn(enc) * 2 : bitsIn(enc)
}

function bitsIn(name: string): number {
  return Number(/^A(128|192|256)/.exec(name)?.[1])
}
