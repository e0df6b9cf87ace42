import type { GroupSettings } from '../../config/settings.ts'
import { isNamed, type Memberships } from './memberships.ts'

/** Whether a user may sign in, and what happens to the user's site admin rights. */
export type Access =
  | { readonly admitted: false; readonly code: 'not_in_required_group' | 'memberships_unknown' }
  | { readonly admitted: true; readonly siteAdmin: 'grant' | 'revoke' | 'keep' }

/**
 * Decides what a user's groups allow at this login. Names match exactly, including case. Source: Groups object.
 *
 * If the memberships are unknown, `required` refuses the user, and the user's rights stay unchanged. An outage must
 * neither admit a user nor revoke rights.
 */
export function decideAccess(memberOf: Memberships, rules: GroupSettings | null): Access {
  if (!rules) return { admitted: true, siteAdmin: 'keep' }
  // An administrator configured an empty list deliberately, so it admits no user. A missing list admits all users.
  if (rules.required && !isInOneOf(memberOf, rules.required)) {
    return { admitted: false, code: memberOf === 'unknown' ? 'memberships_unknown' : 'not_in_required_group' }
  }
  return { admitted: true, siteAdmin: siteAdminByGroups(memberOf, rules) }
}

/** Decides whether the groups of an admitted user grant or revoke site admin. */
export function siteAdminByGroups(memberOf: Memberships, rules: GroupSettings): 'grant' | 'revoke' | 'keep' {
  if (memberOf === 'unknown' || !rules.siteadmin) return 'keep'
  if (isInOneOf(memberOf, rules.siteadmin)) return 'grant'
  // The specification contradicts itself about the default of `revokeAdmin`. It is true, as in MeshCentral's built-in
  // strategy, because true is safer: users soon notice a right that they lost, but not one that they kept.
  return rules.revokeAdmin ? 'revoke' : 'keep'
}

function isInOneOf(memberOf: Memberships, names: readonly string[]): boolean {
  return memberOf !== 'unknown' && names.some((name) => memberOf.some((group) => isNamed(group, name)))
}
