import type { DomainSettings, GroupSettings } from '../../config/settings.ts'
import type { Accounts, Host, UserId } from '../../host/port.ts'
import { siteAdminByGroups } from './access.ts'
import { groupChanges } from './group-sync.ts'
import type { Memberships } from './memberships.ts'
import { rightsByGroups } from './rights.ts'

/** The changes that group rules made to one account, for the authentication log. */
export interface AppliedRules {
  /** How the site admin right changed. `keep` if it did not change. */
  readonly siteAdmin: 'grant' | 'revoke' | 'keep'
  /** All rights that the account's groups give it now. Undefined if its rights did not change. */
  readonly rights?: readonly string[]
  readonly joined: readonly string[]
  readonly left: readonly string[]
  /** The number of groups to mirror if it exceeds the limit. Otherwise undefined. */
  readonly tooMany?: number
}

type Records = Pick<Host, 'accounts' | 'groups'>

/**
 * Updates site admin, rights and mirrored groups of an admitted user, at a login or a renewal with groups. Unknown
 * memberships change nothing.
 *
 * Reads the account again, because some servers give their first account all rights.
 */
export async function applyGroupRules(
  id: UserId,
  memberships: Memberships,
  { key, groups: rules }: Pick<DomainSettings, 'key' | 'groups'>,
  host: Records,
): Promise<AppliedRules> {
  if (!rules) return { siteAdmin: 'keep', joined: [], left: [] }
  const siteAdmin = await applySiteAdmin(siteAdminByGroups(memberships, rules), id, key, host.accounts)
  // Apply the rights after site admin, because a site admin has all rights.
  const rights = await applyRights(id, memberships, key, rules, host.accounts)
  return { siteAdmin, ...(rights && { rights }), ...(await mirror(id, memberships, key, rules, host)) }
}

/** Revokes what group rules gave to a user who is not in `groups.required`, even if another group gives it. */
export function revokeGroupGrants(
  id: UserId,
  settings: Pick<DomainSettings, 'key' | 'groups'>,
  host: Records,
): Promise<AppliedRules> {
  return applyGroupRules(id, [], settings, host)
}

async function applySiteAdmin(
  wanted: AppliedRules['siteAdmin'],
  id: UserId,
  domainKey: string,
  accounts: Accounts,
): Promise<AppliedRules['siteAdmin']> {
  if (wanted === 'keep') return 'keep'
  const siteAdmin = wanted === 'grant'
  if ((await accounts.find(domainKey, id))?.siteAdmin === siteAdmin) return 'keep'
  await accounts.setSiteAdmin(domainKey, id, siteAdmin)
  return wanted
}

async function applyRights(
  id: UserId,
  memberships: Memberships,
  domainKey: string,
  rules: GroupSettings,
  accounts: Accounts,
): Promise<readonly string[] | undefined> {
  if (!accounts.setRights) return undefined
  const wanted = rightsByGroups(memberships, rules)
  if (wanted.kind === 'keep') return undefined
  return (await accounts.setRights(domainKey, id, wanted.rights, rules.revokeAdmin)) ? wanted.rights : undefined
}

async function mirror(
  id: UserId,
  memberships: Memberships,
  domainKey: string,
  { sync }: GroupSettings,
  { groups }: Pick<Host, 'groups'>,
): Promise<Pick<AppliedRules, 'joined' | 'left' | 'tooMany'>> {
  if (sync === false) return { joined: [], left: [] }
  const { join, leave, ...more } = groupChanges(memberships, sync, await groups.mirroredOf(domainKey, id))
  for (const name of join) await groups.join(domainKey, id, name)
  for (const name of leave) await groups.leave(domainKey, id, name)
  return { joined: join, left: leave, ...more }
}
