import { createHash } from 'node:crypto'
import { decodeJwt } from 'jose'
import { membersOf } from '../../config/json/json-object.ts'
import type { Claims } from '../../login/profile.ts'

/**
 * Checks that the ID token was issued with this access token, which an attacker may have replaced (OpenID Connect Core
 * 1.0, section 3.1.3.8).
 *
 * @param algorithm that of the ID token
 * @returns the objection, if any
 */
export function objectionToTokenHash(accessToken: string, idClaims: Claims, algorithm: string): string | undefined {
  if (idClaims.at_hash === undefined) return undefined
  const digest = createHash(hashOf(algorithm)).update(accessToken).digest()
  const expected = digest.subarray(0, digest.length / 2).toString('base64url')
  return idClaims.at_hash === expected ? undefined : 'at_hash of the ID token belongs to another access token'
}

/**
 * Checks that a readable access token is not bound to another certificate (RFC 8705, section 3.1).
 *
 * @param thumbprint that of this server's certificate, in base64url
 * @returns the objection, if any
 */
export function objectionToBinding(accessToken: string, thumbprint: string): string | undefined {
  const bound = boundTo(accessToken)
  return bound === undefined || bound === thumbprint ? undefined : 'the access token is bound to another certificate'
}

// Returns the hash that a signature algorithm uses. EdDSA uses SHA-512 internally.
function hashOf(algorithm: string): string {
  return `sha${/(256|384|512)$/.exec(algorithm)?.[1] ?? '512'}`
}

function boundTo(accessToken: string): unknown {
  try {
    return membersOf(decodeJwt(accessToken).cnf)['x5t#S256']
  } catch {
    return undefined
  }
}
