import { createHash } from 'node:crypto'
import { isJsonObject, membersOf } from '../../config/json/json-object.ts'
import type { SignIn } from '../../host/port.ts'
import type { MeshCookie } from '../server.ts'

/**
 * Whose something sealed is: of a session, of ours or one that MeshCentral itself began, which is over when one of the
 * keys was revoked after it began, and at `until`; of none; or of a session of its user that nobody knows.
 */
export type Owner =
  | {
      readonly kind: 'session'
      readonly keys: readonly string[]
      readonly startedAt: number
      readonly until?: number
      /** Of a session of ours: where its user came from. */
      readonly from?: Pick<SignIn, 'domainKey' | 'issuer'>
    }
  | { readonly kind: 'none' }
  | { readonly kind: 'unknown'; readonly sealedAt: number }

/** As a cookie bears it. Nothing in it lets anybody in, nor tells who it is. */
export function writeOwner({ kind: _kind, ...members }: Owner): object {
  return members
}

/** What bears no owner was sealed before a start with this plugin, or by somebody who has MeshCentral's key. */
export function readOwner({ oidcSession: value, time }: MeshCookie): Owner {
  const { keys, startedAt, sealedAt, until, from } = isJsonObject(value) ? value : {}
  if (Array.isArray(keys) && typeof startedAt === 'number') {
    const limit = typeof until === 'number' ? { until } : {}
    return { kind: 'session', keys: keys.map(String), startedAt, ...limit, ...readFrom(from) }
  }
  if (typeof sealedAt === 'number') return { kind: 'unknown', sealedAt }
  if (isJsonObject(value)) return { kind: 'none' }
  // In whole seconds: what is from the second of an end may be from before it.
  return { kind: 'unknown', sealedAt: typeof time === 'number' ? time : 0 }
}

function readFrom(value: unknown): Pick<Extract<Owner, { readonly kind: 'session' }>, 'from'> {
  const { domainKey, issuer } = membersOf(value)
  return typeof domainKey === 'string' && typeof issuer === 'string' ? { from: { domainKey, issuer } } : {}
}

/** Key of what MeshCentral itself began for a user: by login tokens, login cookies and login keys. */
export function keyOfDirectLogins(user: string): string {
  return createHash('sha256')
    .update(JSON.stringify(['direct', user]))
    .digest('base64url')
}

/** Key of what was sealed in the name of a user for nobody knows which session. */
export function keyOfSealed(user: string): string {
  return createHash('sha256')
    .update(JSON.stringify(['sealed', user]))
    .digest('base64url')
}
