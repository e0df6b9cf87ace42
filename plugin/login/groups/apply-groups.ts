import type { DomainSettings, GroupSettings } from '../../config/settings.ts'
import type { Accounts, Host, UserId } from '../../host/port.ts'
import { siteAdminByGroups } from './access.ts'
import { groupChanges } from './group-sync.ts'
import type { Memberships } from './memberships.ts'
import { rightsByGroups } from './rights.ts'

/** What group rules changed of one account, for the authentication log. */
export interface AppliedRules {
  /** `keep` also where the account already is what the rules demand. */
  readonly siteAdmin: 'grant' | 'revoke' | 'keep'
  /** The rights that the groups give now; absent where nothing changed. */
  readonly rights?: readonly string[]
  readonly joined: readonly string[]
  readonly left: readonly string[]
  /** The number of the user's groups, where that is too many to be mirrored. */
  readonly tooMany?: number
}

type People = Pick<Host, 'accounts' | 'groups'>

/**
 * Makes site admin, rights and mirrored groups of an account follow the user's groups. For users whom the rules admit:
 * at a login, and after a renewal whose ID token tells the groups. Unknown memberships change nothing.
 *
 * Reads the account anew, because some servers give their first account all rights.
 */
export async function applyGroupRules(
  id: UserId,
  memberships: Memberships,
  { key, groups: rules }: Pick<DomainSettings, 'key' | 'groups'>,
  host: People,
): Promise<AppliedRules> {
  if (!rules) return { siteAdmin: 'keep', joined: [], left: [] }
  const siteAdmin = await settleSiteAdmin(siteAdminByGroups(memberships, rules), id, key, host.accounts)
  // A site admin has all rights, so this comes second.
  const rights = await settleRights(id, memberships, key, rules, host.accounts)
  return { siteAdmin, ...(rights && { rights }), ...(await mirror(id, memberships, key, rules, host)) }
}

/**
 * Takes from an account what group rules gave it, for a user whom `groups.required` refuses. Such a user counts as a
 * member of no group, even if one of the groups would give rights.
 */
export function revokeGroupGrants(
  id: UserId,
  settings: Pick<DomainSettings, 'key' | 'groups'>,
  host: People,
): Promise<AppliedRules> {
  return applyGroupRules(id, [], settings, host)
}

async function settleSiteAdmin(
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

async function settleRights(
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
