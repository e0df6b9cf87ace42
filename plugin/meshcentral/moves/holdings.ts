import { isLocked, type MeshUser, type MeshWeb, SITE_ADMIN } from '../server.ts'

/** What an account has, for the page on which it moves to another one. */
export interface Holdings {
  /** MeshCentral's id, `user/<domain>/<name>`. */
  readonly id: string
  readonly name: string
  readonly email: string | null
  readonly locked: boolean
  readonly siteAdmin: boolean
  /** A mask of rights on the server, without what groups of the IdP gave. */
  readonly siteRights: number
  readonly deviceGroups: readonly { readonly id: string; readonly name: string; readonly rights: number }[]
  /** Without mirrored groups: their strategy says who is in them. */
  readonly userGroups: readonly { readonly id: string; readonly name: string }[]
  /** Devices with rights of their own. */
  readonly devices: readonly { readonly id: string; readonly rights: number }[]
}

/** Reads what a user has from MeshCentral's live records. Links that lead nowhere are left out. */
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

/** The account's rights on the server, without those that groups of the IdP gave: they come back with a login. */
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
 * Pairs of accounts with the same verified e-mail address: one of another strategy, and one of single sign-on. An
 * address that several accounts of single sign-on have suggests nothing.
 */
export function suggestMoves(users: Readonly<Record<string, MeshUser>>, domainId: string): readonly Suggestion[] {
  const ours = new Map<string, string[]>()
  const others: (readonly [address: string, id: string])[] = []
  const own = `user/${domainId}/`
  for (const [id, user] of Object.entries(users)) {
    if (!id.startsWith(own) || user.email === undefined || user.emailVerified !== true) continue
    const address = user.email.toLowerCase()
    if (id.startsWith(`${own}~oidc:`)) ours.set(address, [...(ours.get(address) ?? []), id])
    else others.push([address, id])
  }
  const pairs = others.flatMap(([address, from]) => {
    const [to, ...more] = ours.get(address) ?? []
    return to !== undefined && more.length === 0 ? [{ from, to }] : []
  })
  return pairs.slice(0, MOST_SUGGESTIONS)
}
