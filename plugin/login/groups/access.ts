import type { GroupSettings } from '../../config/settings.ts'
import { isNamed, type Memberships } from './memberships.ts'

export type Access =
  | { readonly admitted: false; readonly code: 'not_in_required_group' | 'memberships_unknown' }
  | { readonly admitted: true; readonly siteAdmin: 'grant' | 'revoke' | 'keep' }

/**
 * What the groups that the IdP reported allow at this login. Names match exactly, case included. Source: Groups object.
 *
 * Unknown memberships fail closed for `required`, and change nothing else: an outage must neither admit nor demote anybody.
 */
export function decideAccess(memberOf: Memberships, rules: GroupSettings | null): Access {
  if (!rules) return { admitted: true, siteAdmin: 'keep' }
  if (memberOf === 'unknown') {
    return rules.required ? { admitted: false, code: 'memberships_unknown' } : { admitted: true, siteAdmin: 'keep' }
  }
  const inOneOf = (names: readonly string[]) => names.some((name) => memberOf.some((group) => isNamed(group, name)))
  // An empty list was written by someone: it admits nobody, unlike no list at all.
  if (rules.required && !inOneOf(rules.required)) return { admitted: false, code: 'not_in_required_group' }
  if (!rules.siteadmin) return { admitted: true, siteAdmin: 'keep' }
  if (inOneOf(rules.siteadmin)) return { admitted: true, siteAdmin: 'grant' }
  // The specification states both defaults; true is what the existing server does, and a revoked right is noticed.
  return { admitted: true, siteAdmin: rules.revokeAdmin ? 'revoke' : 'keep' }
}
