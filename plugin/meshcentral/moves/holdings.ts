import { isLocked, type MeshUser, type MeshWeb, SITE_ADMIN, userKey } from '../server.ts'
import { siteLimits } from './merged-rights.ts'

/** The rights of an account, as shown on the page that moves accounts. */
export interface Holdings {
  /** MeshCentral's id, `user/<domain>/<name>`. */
  readonly id: string
  readonly name: string
  readonly email: string | null
  readonly locked: boolean
  readonly siteAdmin: boolean
  /** Bit mask of the account's rights on the server. Rights that IdP groups granted are not included. */
  readonly siteRights: number
  readonly deviceGroups: readonly { readonly id: string; readonly name: string; readonly rights: number }[]
  /** The account's user groups. Mirrored groups are not included, because the IdP decides who is a member. */
  readonly userGroups: readonly { readonly id: string; readonly name: string }[]
  /** Devices on which the account itself has rights. */
  readonly devices: readonly { readonly id: string; readonly rights: number }[]
}

/** Reads a user's rights from MeshCentral's live records. Links to missing records are omitted. */
export function holdingsOf(web: Pick<MeshWeb, 'meshes' | 'userGroups'>, user: MeshUser): Holdings {
  const links = Object.entries(user.links ?? {})
  return {
    id: user._id,
    name: user.name,
    email: user.email ?? null,
    locked: isLocked(user),
    siteAdmin: user.siteadmin === SITE_ADMIN,
    siteRights: ownSiteRights(user),
    deviceGroups: links.flatMap(([id, { rights }]) => {
      const group = web.meshes?.[id]
      return group ? [{ id, name: group.name ?? id, rights }] : []
    }),
    userGroups: links.flatMap(([id]) => {
      const group = web.userGroups[id]
      return group && group.membershipType === undefined ? [{ id, name: group.name }] : []
    }),
    devices: links.flatMap(([id, { rights }]) => (id.startsWith('node/') ? [{ id, rights }] : [])),
  }
}

/**
 * Returns the account's rights on the server. Rights that IdP groups granted are not included, because the next login
 * grants them again.
 */
export function ownSiteRights({ siteadmin = 0, oidcrights = 0 }: MeshUser): number {
  return siteadmin === SITE_ADMIN ? siteadmin : siteadmin & ~oidcrights
}

/**
 * Whether an account has devices, groups or rights to move to another account. A lock and limits do not count, because
 * they cannot be moved.
 */
export function hasHoldings({ deviceGroups, userGroups, devices, siteRights }: Holdings): boolean {
  return siteRights !== siteLimits(siteRights) || [deviceGroups, userGroups, devices].some((list) => list.length > 0)
}

/** Two accounts that may belong to one user. */
export interface Suggestion {
  readonly from: string
  readonly to: string
}

const MOST_SUGGESTIONS = 20

/**
 * Finds pairs of a single sign-on account and another account with the same verified address. Ignores addresses of
 * several single sign-on accounts, and old accounts with nothing to move.
 */
export function suggestMoves(
  web: Pick<MeshWeb, 'users' | 'meshes' | 'userGroups'>,
  domainId: string,
): readonly Suggestion[] {
  const idsByAddress = new Map<string, string[]>()
  const oldAccounts: (readonly [address: string, user: MeshUser])[] = []
  for (const [address, user] of verifiedAddresses(web.users, domainId)) {
    if (isOfSingleSignOn(user)) idsByAddress.set(address, [...(idsByAddress.get(address) ?? []), user._id])
    else oldAccounts.push([address, user])
  }
  const suggestions: Suggestion[] = []
  for (const [address, user] of oldAccounts) {
    const [to, ...more] = idsByAddress.get(address) ?? []
    if (to === undefined || more.length > 0 || !hasHoldings(holdingsOf(web, user))) continue
    suggestions.push({ from: user._id, to })
    if (suggestions.length === MOST_SUGGESTIONS) break
  }
  return suggestions
}

/** Finds a domain's accounts that have this e-mail address, verified, in any letter case. */
export function accountsWithAddress(
  users: Readonly<Record<string, MeshUser>>,
  domainId: string,
  email: string,
): readonly MeshUser[] {
  const wanted = email.toLowerCase()
  return verifiedAddresses(users, domainId).flatMap(([address, user]) => (address === wanted ? [user] : []))
}

/** Returns a domain's accounts with a verified e-mail address. The addresses are in lower case. */
function verifiedAddresses(
  users: Readonly<Record<string, MeshUser>>,
  domainId: string,
): readonly (readonly [address: string, user: MeshUser])[] {
  const prefix = userKey(domainId, '')
  return Object.entries(users).flatMap(([id, user]) => {
    const { email, emailVerified } = user
    if (!id.startsWith(prefix) || email === undefined || emailVerified !== true) return []
    return [[email.toLowerCase(), user] as const]
  })
}

function isOfSingleSignOn({ _id, domain }: MeshUser): boolean {
  return _id.startsWith(userKey(domain, '~oidc:'))
}
