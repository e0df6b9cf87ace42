import type { GroupSettings } from '../../config/settings.ts'
import { decideAccess } from './access.ts'
import { groupChanges } from './group-sync.ts'
import { isNamed, type Memberships, membershipsOf } from './memberships.ts'
import { rightsByGroups } from './rights.ts'

/**
 * Explains the group rules for a member of exactly these groups, a member of none, and a user with unreadable groups.
 *
 * @param names as the IdP sends them. The rules match them exactly
 */
export function explainGroups(names: readonly string[], rules: GroupSettings | null): readonly string[] {
  if (!rules)
    return [
      'No groups are configured, so the groups of a user neither decide about the login nor change rights or user groups.',
    ]
  const cases: readonly (readonly [string, Memberships])[] = [
    ...(names.length > 0 ? [[`a member of ${listed(names)}`, membershipsOf(names)] as const] : []),
    ['a member of no group', []],
    ['a user whose groups cannot be read', 'unknown'],
  ]
  return cases.flatMap(([user, memberOf]) => {
    const decisions = [
      admission(memberOf, rules),
      ...sessions(memberOf, rules),
      siteAdmin(memberOf, rules),
      ...serverRights(memberOf, rules),
      mirroring(memberOf, rules),
    ]
    return [`${user}:`, ...decisions.map((line) => `  ${line}`)]
  })
}

function admission(memberOf: Memberships, rules: GroupSettings): string {
  const access = decideAccess(memberOf, rules)
  const { required } = rules
  if (!access.admitted) {
    const why =
      access.code === 'memberships_unknown'
        ? 'groups.required is set, and the groups are unknown'
        : `in none of groups.required (${listed(required ?? [])})`
    return `refused: ${why} (${access.code})`
  }
  if (required === null) return 'admitted: groups.required is not set'
  return `admitted: in ${listed(matches(memberOf, required))}, of groups.required`
}

/** Explains what happens to the sessions of a refused user who has an account. */
function sessions(memberOf: Memberships, rules: GroupSettings): readonly string[] {
  if (decideAccess(memberOf, rules).admitted) return []
  return memberOf === 'unknown'
    ? [`sessions: kept as they are, ${UNKNOWN}`]
    : ['sessions: if the user has an account, its sessions end in all browsers, and its login tokens stop working']
}

function siteAdmin(memberOf: Memberships, rules: GroupSettings): string {
  const access = decideAccess(memberOf, rules)
  const { siteadmin, revokeAdmin } = rules
  if (siteadmin === null) return 'site admin: kept as it is, because groups.siteadmin is not set'
  if (memberOf === 'unknown') return `site admin: kept as it is, ${UNKNOWN}`
  if (!access.admitted) {
    return `site admin: ${revokeAdmin ? `revoked, ${REFUSED}; groups.revokeAdmin is true` : KEPT}`
  }
  switch (access.siteAdmin) {
    case 'grant':
      return `site admin: granted, in ${listed(matches(memberOf, siteadmin))}, of groups.siteadmin`
    case 'revoke':
      return `site admin: revoked, in none of groups.siteadmin (${listed(siteadmin)}); groups.revokeAdmin is true`
    case 'keep':
      return `site admin: kept as it is, in none of groups.siteadmin (${listed(siteadmin)}), but groups.revokeAdmin is false`
  }
}

const UNKNOWN = 'because the groups are unknown'
const REFUSED = 'because the user is refused'
const KEPT = 'kept, because groups.revokeAdmin is false'

/** Explains the rule `groups.rights`. The rule has no effect on a host that does not support these rights. */
function serverRights(memberOf: Memberships, rules: GroupSettings): readonly string[] {
  if (rules.rights === null) return []
  const access = decideAccess(memberOf, rules)
  const wanted = rightsByGroups(memberOf, rules)
  if (wanted.kind === 'keep') return [`rights: kept as they are, ${UNKNOWN}`]
  if (!access.admitted) {
    return [`rights: ${rules.revokeAdmin ? `those that groups gave are revoked, ${REFUSED}` : KEPT}`]
  }
  if (access.siteAdmin === 'grant') return ['rights: all, as a site admin']
  const granted = wanted.rights.length === 0 ? 'none by groups.rights' : `${wanted.rights.join(', ')}, by groups.rights`
  const earlier = rules.revokeAdmin ? 'revoked' : KEPT
  return [`rights: ${granted}; others that groups gave before are ${earlier}`]
}

function mirroring(memberOf: Memberships, rules: GroupSettings): string {
  if (rules.sync === false) return 'user groups: kept as they are, because groups.sync is not set'
  if (memberOf === 'unknown') return `user groups: kept as they are, ${UNKNOWN}`
  if (!decideAccess(memberOf, rules).admitted) return `user groups: leaves every mirrored one, ${REFUSED}`
  const { join } = groupChanges(memberOf, rules.sync, [])
  const leaving = join.length === 0 ? 'leaves every mirrored one' : 'leaves every other mirrored one'
  const syncRule = rules.sync === 'all' ? 'groups.sync is true' : `of groups.sync.filter (${listed(rules.sync)})`
  return `user groups: ${join.length === 0 ? 'joins none' : `joins ${listed(join)}`}, ${syncRule}; ${leaving}`
}

/** Returns the names in a rule that match one of the user's groups. */
function matches(memberOf: Memberships, rule: readonly string[]): readonly string[] {
  return memberOf === 'unknown' ? [] : rule.filter((name) => memberOf.some((group) => isNamed(group, name)))
}

// Formats names as JSON, which quotes them and escapes control characters. The names come from a file that is not
// trusted.
function listed(names: readonly string[]): string {
  return names.length === 0 ? 'an empty list' : names.map((name) => JSON.stringify(name)).join(', ')
}
