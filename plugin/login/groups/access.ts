import type { GroupSettings } from '../../config/settings.ts'
import { isNamed, type Memberships } from './memberships.ts'

/** Whether a user may sign in, and what happens to the user's site admin rights. */
export type Access =
  | { readonly admitted: false; readonly code: 'not_in_required_group' | 'memberships_unknown' }
  | { readonly admitted: true; readonly siteAdmin: 'grant' | 'revoke' | 'keep' }

/**
 * Decides what a user's groups allow. Names match exactly, including case. Source: Groups object.
 *
 * Unknown memberships fail `required` and leave rights unchanged. An outage must neither admit a user nor revoke
 * rights.
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
  // The specification contradicts itself. True, as in the built-in strategy, is safer: users notice a lost right, not a
  // kept one.
  return rules.revokeAdmin ? 'revoke' : 'keep'
}

function isInOneOf(memberOf: Memberships, names: readonly string[]): boolean {
  return memberOf !== 'unknown' && names.some((name) => memberOf.some((group) => isNamed(group, name)))
}
