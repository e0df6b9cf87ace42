import { isSameSpelling } from '../config/rules/issuer-spelling.ts'
import type { CustomSettings, DomainSettings } from '../config/settings.ts'
import { LoginError } from '../errors.ts'
import type { Account, Accounts, Host, Profile } from '../host/port.ts'
import { decideAccess } from './groups/access.ts'
import { type AppliedRules, applyGroupRules } from './groups/apply-groups.ts'
import type { Memberships } from './groups/memberships.ts'
import { missingGroupsRemedy } from './groups/reported-groups.ts'
import type { Identity } from './profile.ts'

/** The changes that a login made, for the authentication log. */
export interface SignInResult extends AppliedRules {
  /** Whether the login created the account. */
  readonly created: boolean
}

/** The user who signs in. By default, all claims count as sent by the IdP. */
export type SignInIdentity = Profile & Partial<Identity>

/**
 * Admits or refuses an authenticated user, then writes account, rights and groups. A refusal writes nothing. The caller
 * must then lock an existing account's user out (`sessions/refused-user.ts`).
 *
 * @param reported fields about groups, for the log line of a refusal
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
  const { isNameClaimed = true, isEmailKnown = true, isVerificationKnown = true, ...profile } = identity
  const mayCreate = settings.newAccounts ?? host.newAccountsAllowed?.(settings.key) ?? false
  try {
    const account = await host.accounts.find(settings.key, profile.id)
    // Check the issuer of the account first. A user of another IdP may have the same id, and must neither get this
    // account nor change its rights.
    checkIssuer(account, profile, settings.custom)
    const access = decideAccess(memberships, settings.groups)
    if (!access.admitted) throw refusal(access.code, profile, reported)
    if (account?.locked) throw new LoginError('account_locked', { details: { user: profile.id } })
    if (host.inMaintenance?.(settings.key) && !willBeSiteAdmin(access.siteAdmin, account)) {
      throw new LoginError('maintenance', { details: { user: profile.id } })
    }
    const { key: domainKey, custom } = settings
    const sent = { isNameClaimed, isEmailKnown, isVerificationKnown }
    const write = { profile, sent, domainKey, custom, mayCreate, accounts: host.accounts }
    const created = await writeAccount(write, account)
    if (created && (await host.accounts.find(settings.key, profile.id))?.locked) {
      const remedy = 'The account was created, and is locked as `newAccountsRights` says. Unlock it to admit the user.'
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

/** Refuses an account of another issuer, because ids are unique only within one. Accounts without an issuer pass. */
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

interface AccountWrite {
  readonly profile: Profile
  /** Which parts of the profile the IdP sent. */
  readonly sent: Omit<Identity, keyof Profile>
  readonly domainKey: string
  readonly custom: CustomSettings
  readonly mayCreate: boolean
  readonly accounts: Accounts
}

/**
 * Updates the account, or creates it.
 *
 * @returns true if the account was created
 */
async function writeAccount(write: AccountWrite, account: Account | undefined): Promise<boolean> {
  const { profile, domainKey, custom, mayCreate, accounts } = write
  if (account) {
    await accounts.update(domainKey, updatedProfile(write, account))
    return false
  }
  if (!mayCreate) throw new LoginError('account_unknown', { details: { user: profile.id } })
  try {
    await accounts.create(domainKey, profile)
    return true
  } catch (error) {
    // Another first login of the same user may have created the account at the same time. If so, use that account.
    const created = await accounts.find(domainKey, profile.id)
    if (!created) throw error
    checkIssuer(created, profile, custom)
    await accounts.update(domainKey, updatedProfile(write, created))
    return false
  }
}

/**
 * Returns the profile to store. What the IdP did not send keeps the account's value, except names that MeshCentral's
 * built-in strategy left empty.
 */
function updatedProfile({ profile, sent }: AccountWrite, account: Account): Profile {
  const name = sent.isNameClaimed || !account.name ? profile.name : account.name
  const email = sent.isEmailKnown ? profile.email : account.email
  const keepsVerification = !sent.isVerificationKnown && email === account.email
  const stored = keepsVerification ? account.emailVerified : undefined
  return { ...profile, name, email, emailVerified: stored ?? profile.emailVerified }
}
