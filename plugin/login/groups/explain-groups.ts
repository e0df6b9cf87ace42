import type { GroupSettings } from '../../config/settings.ts'
import { decideAccess } from './access.ts'
import { groupChanges } from './group-sync.ts'
import { isNamed, type Memberships, membershipsOf } from './memberships.ts'
import { rightsByGroups } from './rights.ts'

/**
 * What the rules decide for a member of exactly these groups, of none, and for somebody whose groups could not be
 * learned: sentences for an administrator, by the same rules as at a login.
 *
 * @param names as the IdP says them; those in the rules match exactly
 */
export function explainGroups(names: readonly string[], rules: GroupSettings | null): readonly string[] {
  if (!rules) return ['No groups are configured: nobody is refused by them, and no right or group is changed.']
  const cases: readonly (readonly [string, Memberships])[] = [
    ...(names.length > 0 ? [[`a member of ${listed(names)}`, membershipsOf(names)] as const] : []),
    ['a member of no group', []],
    ['somebody whose groups cannot be learned', 'unknown'],
  ]
  return cases.flatMap(([who, memberOf]) => [
    `${who}:`,
    ...[
      admission(memberOf, rules),
      ...sessions(memberOf, rules),
      siteAdmin(memberOf, rules),
      ...serverRights(memberOf, rules),
      mirroring(memberOf, rules),
    ].map((line) => `  ${line}`),
  ])
}

function admission(memberOf: Memberships, rules: GroupSettings): string {
  const access = decideAccess(memberOf, rules)
  const { required } = rules
  if (!access.admitted) {
    const why =
      access.code === 'memberships_unknown'
        ? 'groups.required is set, and nobody knows'
        : `in none of groups.required (${listed(required ?? [])})`
    return `refused: ${why} (${access.code})`
  }
  if (required === null) return 'admitted: groups.required is not set'
  return `admitted: in ${listed(matches(memberOf, required))}, of groups.required`
}

/** What happens to the sessions of a user who is refused and has an account. */
function sessions(memberOf: Memberships, rules: GroupSettings): readonly string[] {
  if (decideAccess(memberOf, rules).admitted) return []
  return memberOf === 'unknown'
    ? ['sessions: kept as they are, since nobody knows']
    : ['sessions: those of somebody who has an account end, in all browsers; login tokens stop working']
}

function siteAdmin(memberOf: Memberships, rules: GroupSettings): string {
  const access = decideAccess(memberOf, rules)
  const { siteadmin, revokeAdmin } = rules
  if (siteadmin === null) return 'site admin: kept as it is, since groups.siteadmin is not set'
  if (memberOf === 'unknown') return 'site admin: kept as it is, since nobody knows'
  if (!access.admitted) {
    return `site admin: ${revokeAdmin ? `revoked, ${REFUSED}; groups.revokeAdmin is true` : KEPT_IF_REFUSED}`
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

const REFUSED = 'since the user is refused'
const KEPT_IF_REFUSED = 'kept as it is, since groups.revokeAdmin is false'

/** Servers that have none of these leave the rule alone. */
function serverRights(memberOf: Memberships, rules: GroupSettings): readonly string[] {
  if (rules.rights === null) return []
  const access = decideAccess(memberOf, rules)
  const wanted = rightsByGroups(memberOf, rules)
  if (wanted.kind === 'keep') return ['rights: kept as they are, since nobody knows']
  if (!access.admitted) {
    return [`rights: ${rules.revokeAdmin ? `those that groups gave are taken away, ${REFUSED}` : KEPT_IF_REFUSED}`]
  }
  if (access.siteAdmin === 'grant') return ['rights: all, as a site admin']
  const given = wanted.rights.length === 0 ? 'none by groups.rights' : `${wanted.rights.join(', ')}, by groups.rights`
  const before = rules.revokeAdmin ? 'are taken away' : 'are kept, since groups.revokeAdmin is false'
  return [`rights: ${given}; others that groups gave before ${before}`]
}

function mirroring(memberOf: Memberships, rules: GroupSettings): string {
  if (rules.sync === false) return 'user groups: kept as they are, since groups.sync is not set'
  if (memberOf === 'unknown') return 'user groups: kept as they are, since nobody knows'
  if (!decideAccess(memberOf, rules).admitted) return `user groups: leaves every mirrored one, ${REFUSED}`
  const { join } = groupChanges(memberOf, rules.sync, [])
  const leaving = join.length === 0 ? 'leaves every mirrored one' : 'leaves every other mirrored one'
  const which = rules.sync === 'all' ? 'groups.sync is true' : `of groups.sync.filter (${listed(rules.sync)})`
  return `user groups: ${join.length === 0 ? 'joins none' : `joins ${listed(join)}`}, ${which}; ${leaving}`
}

/** Names in the rule that mean one of the groups. */
function matches(memberOf: Memberships, rule: readonly string[]): readonly string[] {
  return memberOf === 'unknown' ? [] : rule.filter((name) => memberOf.some((group) => isNamed(group, name)))
}

// In quotation marks, and with its control characters escaped: a name from a file is no line of ours.
function listed(names: readonly string[]): string {
  return names.length === 0 ? 'an empty list' : names.map((name) => JSON.stringify(name)).join(', ')
}
