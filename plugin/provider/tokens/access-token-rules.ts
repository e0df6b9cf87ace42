import { createHash } from 'node:crypto'
import { decodeJwt } from 'jose'
import { membersOf } from '../../config/json/json-object.ts'
import type { Claims } from '../../login/profile.ts'

/**
 * Whether an access token is not the one that the ID token beside it was issued with: somebody put a foreign one in its
 * place. Source: OpenID Connect Core 1.0, section 3.1.3.8; without `at_hash` nobody can tell.
 *
 * @param algorithm that the ID token is signed with
 * @returns what is wrong, or undefined
 */
export function objectionToTokenHash(accessToken: string, idClaims: Claims, algorithm: string): string | undefined {
  if (idClaims.at_hash === undefined) return undefined
  const digest = createHash(hashOf(algorithm)).update(accessToken).digest()
  const expected = digest.subarray(0, digest.length / 2).toString('base64url')
  return idClaims.at_hash === expected ? undefined : 'at_hash of the ID token is of another access token'
}

/**
 * Whether an access token says that it is bound to another client certificate than this server's. One that cannot be
 * read, since it is meant for others, says nothing. Source: RFC 8705, section 3.1.
 *
 * @param thumbprint of this server's certificate, base64url
 */
export function objectionToBinding(accessToken: string, thumbprint: string): string | undefined {
  const bound = boundTo(accessToken)
  return bound === undefined || bound === thumbprint ? undefined : 'the access token is bound to another certificate'
}

// EdDSA hashes with SHA-512 by itself.
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
