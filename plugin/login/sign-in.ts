import { isSameSpelling } from '../config/rules/issuer-spelling.ts'
import type { CustomSettings, DomainSettings } from '../config/settings.ts'
import { LoginError } from '../errors.ts'
import type { Account, Accounts, Host, Profile } from '../host/port.ts'
import { decideAccess } from './groups/access.ts'
import { type AppliedRules, applyGroupRules } from './groups/apply-groups.ts'
import type { Memberships } from './groups/memberships.ts'
import { missingGroupsRemedy } from './groups/reported-groups.ts'
import type { Identity } from './profile.ts'

/** What a login did, for the authentication log. */
export interface SignInResult extends AppliedRules {
  readonly created: boolean
}

/** Who signs in. Without `isNameClaimed`, the name is the user's own. */
export type SignInIdentity = Profile & Partial<Identity>

/**
 * Lets a person in whom the IdP has vouched for: decides, then writes account, rights and groups through the host port.
 * A refusal writes nothing here. What it takes from a known account is the caller's part: `sessions/refused-user.ts`.
 *
 * @param reported what the IdP said of groups, for the log line of a refusal
 * @throws LoginError `issuer_changed`, `account_unknown`, `account_limit`, `account_locked`, `maintenance`,
 *   `not_in_required_group`, `memberships_unknown`, `host_failed`
 */
export async function signIn(
  identity: SignInIdentity,
  memberships: Memberships,
  settings: DomainSettings,
  host: Pick<Host, 'accounts' | 'groups' | 'loginTokens' | 'newAccountsAllowed' | 'inMaintenance'>,
  reported: Readonly<Record<string, unknown>> = {},
): Promise<SignInResult> {
  const { isNameClaimed = true, ...profile } = identity
  const mayCreate = settings.newAccounts ?? host.newAccountsAllowed?.(settings.key) ?? false
  try {
    const account = await host.accounts.find(settings.key, profile.id)
    // First of all: another IdP's word on this id must neither open the account nor take anything from it.
    checkIssuer(account, profile, settings.custom)
    const access = decideAccess(memberships, settings.groups)
    if (!access.admitted) throw refusal(access.code, profile, reported)
    if (account?.locked) throw new LoginError('account_locked', { details: { user: profile.id } })
    if (host.inMaintenance?.(settings.key) && !willBeSiteAdmin(access.siteAdmin, account)) {
      throw new LoginError('maintenance', { details: { user: profile.id } })
    }
    const { key: domainKey, custom } = settings
    const entering = { profile, isNameClaimed, domainKey, custom, mayCreate, accounts: host.accounts }
    const created = await enter(entering, account)
    if (created && (await host.accounts.find(settings.key, profile.id))?.locked) {
      const remedy = 'The account was made, and is locked, as `newAccountsRights` says. Unlock it to let the user in.'
      throw new LoginError('account_locked', { details: { user: profile.id }, remedy })
    }
    const applied = await applyGroupRules(profile.id, memberships, settings, host)
    await host.loginTokens?.confirm(settings.key, profile.id, 'login')
    return { created, ...applied }
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

/**
 * An id is unique within one issuer only. Accounts of older versions and of other strategies remember none, and take
 * that of their next login.
 */
function checkIssuer(
  account: Account | undefined,
  { id, issuer }: Profile,
  { previousIssuers }: Pick<CustomSettings, 'previousIssuers'>,
): void {
  const remembered = account?.issuer
  if (remembered === undefined || issuer === undefined) return
  if ([issuer, ...previousIssuers].some((accepted) => isSameSpelling(accepted, remembered))) return
  throw new LoginError('issuer_changed', { details: { user: id, remembered, issuer } })
}

function willBeSiteAdmin(wanted: SignInResult['siteAdmin'], account: Account | undefined): boolean {
  return wanted === 'keep' ? (account?.siteAdmin ?? false) : wanted === 'grant'
}

interface Entering {
  readonly profile: Profile
  readonly isNameClaimed: boolean
  readonly domainKey: string
  readonly custom: CustomSettings
  readonly mayCreate: boolean
  readonly accounts: Accounts
}

/** Updates the account, or creates it. @returns whether it was created */
async function enter(entering: Entering, account: Account | undefined): Promise<boolean> {
  const { profile, domainKey, custom, mayCreate, accounts } = entering
  if (account) {
    await accounts.update(domainKey, updated(entering, account))
    return false
  }
  if (!mayCreate) throw new LoginError('account_unknown', { details: { user: profile.id } })
  try {
    await accounts.create(domainKey, profile)
    return true
  } catch (error) {
    // Two first logins of one person at the same time: the later one finds the account that the other made.
    const other = await accounts.find(domainKey, profile.id)
    if (!other) throw error
    checkIssuer(other, profile, custom)
    await accounts.update(domainKey, updated(entering, other))
    return false
  }
}

/** A fallback renames nobody. MeshCentral's built-in strategy may have left an account without any name. */
function updated({ profile, isNameClaimed }: Entering, { name }: Account): Profile {
  return isNameClaimed || !name ? profile : { ...profile, name }
}
