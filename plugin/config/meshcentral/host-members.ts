import type { JsonObject } from '../json/json-object.ts'
import { canonicalName } from '../json/member-name.ts'

/**
 * Members of the `oidc` object that MeshCentral itself reads when it creates an account. The plugin reads all others.
 */
export const HOST_MEMBERS = ['newAccountsRights', 'newAccountRealms', 'newAccountsUserGroups'] as const

/** Returns the `oidc` object without the members that MeshCentral itself reads. */
export function withoutHostMembers(oidc: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(oidc).filter(([name]) => canonicalName(name, HOST_MEMBERS) === undefined))
}

/** Whether MeshCentral treats a member or domain with this name as a comment. */
export function isComment(name: string): boolean {
  return name.startsWith('_')
}
