import { createHash } from 'node:crypto'
import { isJsonObject } from '../../config/json/json-object.ts'
import type { MeshCookie } from '../server.ts'

/**
 * Whose something sealed is: of a session of ours, which is over when one of the keys was revoked after it began; of none, such as what
 * was sealed for a login token; or of a session of its user that nobody knows.
 */
export type Owner =
  | { readonly kind: 'session'; readonly keys: readonly string[]; readonly startedAt: number }
  | { readonly kind: 'none' }
  | { readonly kind: 'unknown'; readonly sealedAt: number }

/** As a cookie bears it. Nothing in it lets anybody in, nor tells who it is. */
export function writeOwner({ kind: _kind, ...members }: Owner): object {
  return members
}

/** What bears no owner was sealed before a start with this plugin, or by somebody who has MeshCentral's key. */
export function readOwner({ oidcSession: value, time }: MeshCookie): Owner {
  const { keys, startedAt, sealedAt } = isJsonObject(value) ? value : {}
  if (Array.isArray(keys) && typeof startedAt === 'number') {
    return { kind: 'session', keys: keys.map(String), startedAt }
  }
  if (typeof sealedAt === 'number') return { kind: 'unknown', sealedAt }
  if (isJsonObject(value)) return { kind: 'none' }
  // In whole seconds: what is from the second of an end may be from before it.
  return { kind: 'unknown', sealedAt: typeof time === 'number' ? time : 0 }
}

/** Key of what was sealed in the name of a user for nobody knows which session. */
export function keyOfSealed(user: string): string {
  return createHash('sha256')
    .update(JSON.stringify(['sealed', user]))
    .digest('base64url')
}
