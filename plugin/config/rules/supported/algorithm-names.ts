/**
 * Signature algorithms that use the client secret. The names in this file are from RFC 7518, sections 3.1, 4.1 and 5.1;
 * RFC 8037; RFC 9864.
 */
export const HMAC = ['HS256', 'HS384', 'HS512']

const RSA = ['RS256', 'PS256', 'RS384', 'PS384', 'RS512', 'PS512']
const BY_CURVE: ReadonlyMap<string, string> = new Map([
  ['P-256', 'ES256'],
  ['P-384', 'ES384'],
  ['P-521', 'ES512'],
])
const ED25519 = ['EdDSA', 'Ed25519']

/** Signature algorithms with a key pair that this server can use to sign and verify. */
export const KEY_PAIR_SIGNATURES = [...RSA, ...BY_CURVE.values(), ...ED25519]

const RSA_OAEP = ['RSA-OAEP-256', 'RSA-OAEP', 'RSA-OAEP-384', 'RSA-OAEP-512']
const ECDH = ['ECDH-ES', 'ECDH-ES+A128KW', 'ECDH-ES+A192KW', 'ECDH-ES+A256KW']

/** Encryption algorithms that use a key pair. RSA1_5 is excluded, because it is broken. */
export const KEY_PAIR_ENCRYPTION = [...RSA_OAEP, ...ECDH]
/**
 * Encryption algorithms with a key that this server and the IdP derive from the client secret. Source: OpenID Connect
 * Core 1.0, section 10.2.
 */
export const SHARED_KEY_ENCRYPTION = ['A128KW', 'A192KW', 'A256KW', 'A128GCMKW', 'A192GCMKW', 'A256GCMKW', 'dir']
export const CONTENT_ENCRYPTION = ['A128CBC-HS256', 'A192CBC-HS384', 'A256CBC-HS512', 'A128GCM', 'A192GCM', 'A256GCM']

/** Returns the algorithms that a key can use, the preferred ones first. Returns none for an unsupported type. */
export function algorithmsOf(
  kty: unknown,
  crv: unknown,
): { readonly signs: readonly string[]; readonly decrypts: readonly string[] } {
  const curve = typeof crv === 'string' ? crv : ''
  if (kty === 'RSA') return { signs: RSA, decrypts: RSA_OAEP }
  if (kty === 'EC' && BY_CURVE.has(curve)) return { signs: [BY_CURVE.get(curve) ?? ''], decrypts: ECDH }
  if (kty === 'OKP' && curve === 'Ed25519') return { signs: ED25519, decrypts: [] }
  if (kty === 'OKP' && curve === 'X25519') return { signs: [], decrypts: ECDH }
  return { signs: [], decrypts: [] }
}
