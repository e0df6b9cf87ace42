import { isLocked, type MeshUser, type MeshWeb, SITE_ADMIN } from '../server.ts'

/** The rights of an account, as the page that moves them shows them. */
export interface Holdings {
  /** MeshCentral's id, `user/<domain>/<name>`. */
  readonly id: string
  readonly name: string
  readonly email: string | null
  readonly locked: boolean
  readonly siteAdmin: boolean
  /** Bit mask of rights on the server. Rights that IdP groups granted are not included. */
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

/** Two accounts that may belong to one user. */
export interface Suggestion {
  readonly from: string
  readonly to: string
}

const MOST_SUGGESTIONS = 20

/**
 * Finds pairs of accounts with the same verified e-mail address: one account of single sign-on, and one of another
 * kind, such as with a password. An address is ignored if several accounts of single sign-on have it.
 */
export function suggestMoves(users: Readonly<Record<string, MeshUser>>, domainId: string): readonly Suggestion[] {
  const idsByAddress = new Map<string, string[]>()
  const oldAccounts: (readonly [address: string, id: string])[] = []
  const prefix = `user/${domainId}/`
  for (const [id, user] of Object.entries(users)) {
    if (!id.startsWith(prefix) || user.email === undefined || user.emailVerified !== true) continue
    const address = user.email.toLowerCase()
    if (id.startsWith(`${prefix}~oidc:`)) idsByAddress.set(address, [...(idsByAddress.get(address) ?? []), id])
    else oldAccounts.push([address, id])
  }
  const pairs = oldAccounts.flatMap(([address, from]) => {
    const [to, ...more] = idsByAddress.get(address) ?? []
    return to !== undefined && more.length === 0 ? [{ from, to }] : []
  })
  return pairs.slice(0, MOST_SUGGESTIONS)
}
