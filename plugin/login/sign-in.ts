import type { DomainSettings } from '../config/settings.ts'
import { LoginError } from '../errors.ts'
import type { Account, Accounts, Host, Profile } from '../host/port.ts'
import { decideAccess } from './groups/access.ts'
import { groupChanges } from './groups/group-sync.ts'
import type { Memberships } from './groups/memberships.ts'
import { missingGroupsRemedy } from './groups/reported-groups.ts'
import { rightsByGroups } from './groups/rights.ts'

/** What a login did, for the authentication log. */
export interface SignInResult {
  readonly created: boolean
  /** What was changed; `keep` also where the rules ask for what is so already. */
  readonly siteAdmin: 'grant' | 'revoke' | 'keep'
  /** What groups give beside that, where it was changed. */
  readonly rights?: readonly string[]
  readonly joined: readonly string[]
  readonly left: readonly string[]
  /** In how many groups the person is, where that is too many to be mirrored. */
  readonly tooMany?: number
}

/**
 * Lets a person in whom the IdP has vouched for: decides, then writes account, rights and groups through the host port.
 * Nothing is written for somebody who is refused.
 *
 * @param reported what the IdP said of groups, for the log line of a refusal
 * @throws LoginError `account_unknown`, `account_limit`, `account_locked`, `maintenance`, `not_in_required_group`, `memberships_unknown`, `host_failed`
 */
export async function signIn(
  profile: Profile,
  memberships: Memberships,
  settings: DomainSettings,
  host: Pick<Host, 'accounts' | 'groups' | 'newAccountsAllowed' | 'inMaintenance'>,
  reported: Readonly<Record<string, unknown>> = {},
): Promise<SignInResult> {
  const access = decideAccess(memberships, settings.groups)
  if (!access.admitted) throw refusal(access.code, profile, reported)
  const mayCreate = settings.newAccounts ?? host.newAccountsAllowed?.(settings.key) ?? false
  try {
    const account = await host.accounts.find(settings.key, profile.id)
    if (account?.locked) throw new LoginError('account_locked', { details: { user: profile.id } })
    if (host.inMaintenance?.(settings.key) && !willBeSiteAdmin(access.siteAdmin, account)) {
      throw new LoginError('maintenance', { details: { user: profile.id } })
    }
    const created = await enter(profile, settings.key, account !== undefined, mayCreate, host.accounts)
    if (created && (await host.accounts.find(settings.key, profile.id))?.locked) {
      const remedy = 'The account was made, and is locked, as `newAccountsRights` says. Unlock it to let the user in.'
      throw new LoginError('account_locked', { details: { user: profile.id }, remedy })
    }
    const siteAdmin = await settleRights(access.siteAdmin, profile, settings.key, host.accounts)
    const rights = await giveRights(profile, memberships, settings, host.accounts)
    return { created, siteAdmin, ...(rights && { rights }), ...(await mirror(profile, memberships, settings, host)) }
  } catch (error) {
    if (error instanceof LoginError) throw error
    throw new LoginError('host_failed', { cause: error, details: { user: profile.id } })
  }
}

function refusal(
  code: 'not_in_required_group' | 'memberships_unknown',
  { id }: Profile,
  reported: Readonly<Record<string, unknown>>,
): LoginError {
  const remedy = code === 'not_in_required_group' ? missingGroupsRemedy(reported) : undefined
  return new LoginError(code, { details: { user: id, ...reported }, ...(remedy === undefined ? {} : { remedy }) })
}

function willBeSiteAdmin(wanted: SignInResult['siteAdmin'], account: Account | undefined): boolean {
  return wanted === 'keep' ? (account?.siteAdmin ?? false) : wanted === 'grant'
}

async function enter(
  profile: Profile,
  domainKey: string,
  isKnown: boolean,
  mayCreate: boolean,
  accounts: Accounts,
): Promise<boolean> {
  if (isKnown) {
    await accounts.update(domainKey, profile)
    return false
  }
  if (!mayCreate) throw new LoginError('account_unknown', { details: { user: profile.id } })
  try {
    await accounts.create(domainKey, profile)
    return true
  } catch (error) {
    // Two first logins of one person at the same time: the later one finds the account that the other made.
    if (!(await accounts.find(domainKey, profile.id))) throw error
    await accounts.update(domainKey, profile)
    return false
  }
}

/** Read after the account was made: some servers give their first account all rights. */
async function settleRights(
  wanted: SignInResult['siteAdmin'],
  { id }: Profile,
  domainKey: string,
  accounts: Accounts,
): Promise<SignInResult['siteAdmin']> {
  if (wanted === 'keep') return 'keep'
  const siteAdmin = wanted === 'grant'
  if ((await accounts.find(domainKey, id))?.siteAdmin === siteAdmin) return 'keep'
  await accounts.setSiteAdmin(domainKey, id, siteAdmin)
  return wanted
}

/** After the right of a site admin is settled, which wins. @returns what groups give, where that changed anything */
async function giveRights(
  { id }: Profile,
  memberships: Memberships,
  { key, groups }: DomainSettings,
  accounts: Accounts,
): Promise<readonly string[] | undefined> {
  if (!groups || !accounts.setRights) return undefined
  const wanted = rightsByGroups(memberships, groups)
  if (wanted.kind === 'keep') return undefined
  return (await accounts.setRights(key, id, wanted.rights, groups.revokeAdmin)) ? wanted.rights : undefined
}

async function mirror(
  profile: Profile,
  memberships: Memberships,
  settings: DomainSettings,
  { groups }: Pick<Host, 'groups'>,
): Promise<Pick<SignInResult, 'joined' | 'left' | 'tooMany'>> {
  const sync = settings.groups?.sync ?? false
  if (sync === false) return { joined: [], left: [] }
  const { join, leave, ...more } = groupChanges(memberships, sync, await groups.mirroredOf(settings.key, profile.id))
  for (const name of join) await groups.join(settings.key, profile.id, name)
  for (const name of leave) await groups.leave(settings.key, profile.id, name)
  return { joined: join, left: leave, ...more }
}
