import { compactVerify, decodeProtectedHeader, errors, type JWTVerifyGetKey } from 'jose'
import { LoginError } from '../../errors.ts'
import { deepestMessage } from '../../log.ts'

/**
 * Verifies that one of the IdP's keys signed a token.
 *
 * @throws LoginError `id_token_invalid`
 */
export async function verifySignature(token: string, keys: JWTVerifyGetKey, algorithm: string): Promise<void> {
  const options = { algorithms: [algorithm] }
  try {
    await compactVerify(token, keys, options)
  } catch (error) {
    // A token without a `kid` may be signed with any of several keys, so try each published key.
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

function faultOf(error: unknown, token: string) {
  const reason = deepestMessage(error)
  if (!(error instanceof errors.JWKSNoMatchingKey)) return { details: { reason } }
  const { kid = 'none', alg } = decodeProtectedHeader(token)
  return {
    details: { reason, keyId: kid, algorithm: alg },
    remedy:
      "The IdP's key set has no key for this token (`keyId`, `algorithm`). Check `issuer.jwks_uri` if you set it, and whether the IdP's servers have different keys.",
  }
}
