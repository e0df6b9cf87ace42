import type { Account, Profile, UserId } from '../../host/port.ts'
import { isLocked, type Members, type MeshServer, type MeshUser, SITE_ADMIN, userKey } from '../server.ts'
import type { TakenDomain } from '../start/take-over.ts'
import { sanitizeName, withoutAngleBrackets } from './sanitize-name.ts'

/** A domain, and its `oidc` object with the settings for new accounts. */
export interface AccountSettings {
  readonly domain: TakenDomain['domain'] & { readonly limits?: { readonly maxuseraccounts?: unknown } | null }
  readonly oidc: Members
}

/** Returns the account that a user record describes. */
export function accountOf(id: UserId, user: MeshUser): Account {
  return {
    id,
    name: user.name,
    email: user.email ?? null,
    emailVerified: user.emailVerified === true,
    siteAdmin: user.siteadmin === SITE_ADMIN,
    ...(typeof user.oidcissuer === 'string' ? { issuer: user.oidcissuer } : {}),
    ...(isLocked(user) ? { locked: true } : {}),
  }
}

/** Creates the record of a new account, without rights. */
export function newUser(domain: string, profile: Profile, seconds: number): MeshUser {
  const { id, name, email, emailVerified, issuer } = sanitizedProfile(profile)
  return {
    type: 'user',
    _id: userKey(domain, id),
    name,
    ...(email === null ? {} : { email, emailVerified: countsAsVerified(emailVerified) }),
    creation: seconds,
    login: seconds,
    access: seconds,
    domain,
    ...(issuer === undefined ? {} : { oidcissuer: issuer }),
  }
}

/**
 * Copies name and e-mail address of a profile into a record. An address that MeshCentral itself verified stays
 * verified.
 *
 * @returns whether the record changed
 */
export function applyProfile(user: MeshUser, profile: Profile): boolean {
  const { name, email, emailVerified } = sanitizedProfile(profile)
  const isNewName = user.name !== name
  const isNewAddress = email !== null && user.email !== email
  const isVerified = countsAsVerified(emailVerified)
  const isNewlyVerified = email !== null && isVerified && user.emailVerified !== true
  if (isNewName) user.name = name
  if (isNewAddress) user.email = email
  if (isNewAddress || isNewlyVerified) user.emailVerified = isVerified
  return isNewName || isNewAddress || isNewlyVerified
}

/** Returns the maximum number of accounts in a domain. */
export function mostAccounts({ limits }: AccountSettings['domain']): number {
  const most = limits?.maxuseraccounts
  return typeof most === 'number' ? most : Number.POSITIVE_INFINITY
}

/** Returns the rights mask of new accounts, or undefined if they get none. */
export function rightsOfNewAccounts(server: MeshServer, { domain, oidc }: AccountSettings): number | undefined {
  // MeshCentral converts the domain's own `newaccountsrights` to a number when it starts.
  const rights = oidc.newaccountsrights
    ? server.common.meshServerRightsArrayToNumber(oidc.newaccountsrights)
    : domain.newaccountsrights
  return typeof rights === 'number' && rights !== 0 ? rights : undefined
}

/** Returns the realms of new accounts, or undefined if none are configured. */
export function realmsOfNewAccounts({ domain, oidc }: AccountSettings): readonly string[] | undefined {
  return textsIn(oidc.newaccountrealms) ?? textsIn(domain.newaccountrealms)
}

/** Returns the user groups that new accounts join. */
export function groupsOfNewAccounts({ domain, oidc }: AccountSettings): readonly string[] {
  return textsIn(oidc.newaccountsusergroups) ?? textsIn(domain.newaccountsusergroups) ?? []
}

/**
 * Finds a record by an id that is not trusted. Finds own members only, because a claim may contain an id such as
 * `__proto__`.
 */
export function ownValue<Value>(records: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(records, key) ? records[key] : undefined
}

function sanitizedProfile(profile: Profile): Profile {
  const { name, email } = profile
  return { ...profile, name: sanitizeName(name), email: email === null ? null : withoutAngleBrackets(email) }
}

/**
 * Whether an e-mail address counts as verified. It does unless the IdP denies it, as in MeshCentral's built-in
 * strategy.
 */
function countsAsVerified(emailVerified: Profile['emailVerified']): boolean {
  return emailVerified ?? true
}

function textsIn(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.length > 0 && value.every((text) => typeof text === 'string') ? value : undefined
}
