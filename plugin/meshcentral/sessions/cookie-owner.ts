import { createHash } from 'node:crypto'
import { isJsonObject, membersOf } from '../../config/json/json-object.ts'
import type { SignIn } from '../../host/port.ts'
import type { MeshCookie } from '../server.ts'

/**
 * The owner of a sealed cookie, which decides when the cookie stops working.
 *
 * - `session`: the session that it was made for. It works until `until`, or until one of the keys is revoked.
 * - `none`: no session. It works until MeshCentral's own time limit.
 * - `unknown`: a session of the cookie's user that cannot be identified.
 */
export type CookieOwner =
  | {
      readonly kind: 'session'
      readonly keys: readonly string[]
      readonly startedAt: number
      readonly until?: number
      /** Domain and issuer of the plugin's login. Undefined if MeshCentral itself began the session. */
      readonly from?: Pick<SignIn, 'domainKey' | 'issuer'>
    }
  | { readonly kind: 'none' }
  | { readonly kind: 'unknown'; readonly sealedAt: number }

/** The owner of a cookie that belongs to a session. */
export type SessionOwner = Extract<CookieOwner, { readonly kind: 'session' }>

/** Returns the members that record the owner in a sealed cookie. They grant no access and do not name the user. */
export function writeOwner({ kind: _kind, ...members }: CookieOwner): object {
  return members
}

/**
 * Reads the owner of a cookie. A cookie without an owner was sealed before the server started with this plugin, or by a
 * program that has MeshCentral's key.
 */
export function readOwner({ oidcSession: value, time }: MeshCookie): CookieOwner {
  const { keys, startedAt, sealedAt, until, from } = isJsonObject(value) ? value : {}
  if (Array.isArray(keys) && typeof startedAt === 'number') {
    const limit = typeof until === 'number' ? { until } : {}
    return { kind: 'session', keys: keys.map(String), startedAt, ...limit, ...readFrom(from) }
  }
  if (typeof sealedAt === 'number') return { kind: 'unknown', sealedAt }
  if (isJsonObject(value)) return { kind: 'none' }
  // MeshCentral rounds a cookie's time down to seconds. So a revocation also covers cookies of the same second.
  return { kind: 'unknown', sealedAt: typeof time === 'number' ? time : 0 }
}

function readFrom(value: unknown): Pick<SessionOwner, 'from'> {
  const { domainKey, issuer } = membersOf(value)
  return typeof domainKey === 'string' && typeof issuer === 'string' ? { from: { domainKey, issuer } } : {}
}

/**
 * Returns the revocation key of the sessions that MeshCentral itself began for a user: by login tokens, login cookies
 * or login keys.
 */
export function keyOfDirectLogins(user: string): string {
  return createHash('sha256')
    .update(JSON.stringify(['direct', user]))
    .digest('base64url')
}

/** Returns the revocation key of a user's sealed cookies that belong to an unidentified session. */
export function keyOfSealed(user: string): string {
  return createHash('sha256')
    .update(JSON.stringify(['sealed', user]))
    .digest('base64url')
}
