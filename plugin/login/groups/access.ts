import type { GroupSettings } from '../../config/settings.ts'
import { isNamed, type Memberships } from './memberships.ts'

export type Access =
  | { readonly admitted: false; readonly code: 'not_in_required_group' | 'memberships_unknown' }
  | { readonly admitted: true; readonly siteAdmin: 'grant' | 'revoke' | 'keep' }

/**
 * Decides what the groups that the IdP reported allow at this login. Names match exactly, case included. Source: Groups
 * object.
 *
 * Unknown memberships fail closed for `required`, and change nothing else: an outage must neither admit nor demote
 * anybody.
 */
export function decideAccess(memberOf: Memberships, rules: GroupSettings | null): Access {
  if (!rules) return { admitted: true, siteAdmin: 'keep' }
  // An empty list was written by someone: it admits nobody, unlike no list at all.
  if (rules.required && !isInOneOf(memberOf, rules.required)) {
    return { admitted: false, code: memberOf === 'unknown' ? 'memberships_unknown' : 'not_in_required_group' }
  }
  return { admitted: true, siteAdmin: siteAdminByGroups(memberOf, rules) }
}

/** Decides what the groups of an admitted user mean for the right of a site admin. */
export function siteAdminByGroups(memberOf: Memberships, rules: GroupSettings): 'grant' | 'revoke' | 'keep' {
  if (memberOf === 'unknown' || !rules.siteadmin) return 'keep'
  if (isInOneOf(memberOf, rules.siteadmin)) return 'grant'
  // The specification states both defaults; true is what the existing server does, and a revoked right is noticed.
  return rules.revokeAdmin ? 'revoke' : 'keep'
}

function isInOneOf(memberOf: Memberships, names: readonly string[]): boolean {
  return memberOf !== 'unknown' && names.some((name) => memberOf.some((group) => isNamed(group, name)))
}
