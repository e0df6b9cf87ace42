import { KeyObject, verify } from 'node:crypto'
import { types } from 'node:util'
import { compactVerify, decodeProtectedHeader, errors, type JWTVerifyGetKey } from 'jose'
import { membersOf } from '../../config/json/json-object.ts'
import { LoginError } from '../../errors.ts'
import { deepestMessage } from '../../log.ts'

/**
 * Verifies that a token is signed by one of an IdP's keys.
 *
 * @throws LoginError `id_token_invalid`
 */
export async function verifySignature(token: string, keys: JWTVerifyGetKey, algorithm: string): Promise<void> {
  const options = { algorithms: [algorithm] }
  if (await isPlainlySigned(token, keys, algorithm)) return
  try {
    await compactVerify(token, keys, options)
  } catch (error) {
    // Without a `kid` any of several keys may have signed; there are as many as the IdP publishes.
    for await (const key of error instanceof errors.JWKSMultipleMatchingKeys ? error : []) {
      const verified = await compactVerify(token, key, options).then(
        () => true,
        () => false,
      )
      if (verified) return
    }
    throw new LoginError('id_token_invalid', { cause: error, ...faultOf(error, token) })
  }
}

const RSA_DIGESTS: ReadonlyMap<string, string> = new Map([
  ['RS256', 'sha256'],
  ['RS384', 'sha384'],
  ['RS512', 'sha512'],
])
/** Source: RFC 7518, section 3.3. */
const FEWEST_RSA_BITS = 2048

/**
 * Whether a token is what nearly all are: signed by RSA, without extensions, by the one key that its header names.
 * By `node:crypto`, within the call: WebCrypto takes the signature to another thread and back, which costs more than verifying it. False
 * says nothing: of all else, and of what is wrong, jose is the judge.
 */
async function isPlainlySigned(token: string, keys: JWTVerifyGetKey, algorithm: string): Promise<boolean> {
  const digest = RSA_DIGESTS.get(algorithm)
  const [header = '', payload = '', signature = '', ...more] = token.split('.')
  if (digest === undefined || more.length > 0) return false
  const bytes = Buffer.from(signature, 'base64url')
  if (!isBase64url(header) || !isBase64url(payload) || bytes.toString('base64url') !== signature) return false
  try {
    const { alg, kid, ...others } = membersOf(JSON.parse(Buffer.from(header, 'base64url').toString()))
    if (alg !== algorithm || typeof kid !== 'string' || 'crit' in others || 'b64' in others) return false
    const key = await keys({ alg, kid }, { payload, protected: header, signature })
    if (!types.isCryptoKey(key)) return false
    const verifier = KeyObject.from(key)
    if ((verifier.asymmetricKeyDetails?.modulusLength ?? 0) < FEWEST_RSA_BITS) return false
    return verify(digest, Buffer.from(`${header}.${payload}`), verifier, bytes)
  } catch {
    return false
  }
}

function isBase64url(text: string): boolean {
  return /^[\w-]+$/.test(text)
}

function faultOf(error: unknown, token: string) {
  const reason = deepestMessage(error)
  if (!(error instanceof errors.JWKSNoMatchingKey)) return { details: { reason } }
  const { kid = 'none', alg } = decodeProtectedHeader(token)
  return {
    details: { reason, keyId: kid, algorithm: alg },
    remedy:
      'The key set of the IdP has no key for this token (`keyId`, `algorithm`). Check `issuer.jwks_uri` where it is set by hand, and whether several servers of the IdP have different keys.',
  }
}
