import type { GroupSettings, ServerRight } from '../../config/settings.ts'
import { isNamed, type Memberships } from './memberships.ts'

/** What groups do to somebody's rights on the server, beside those of a site admin. */
export type RightsByGroups =
  | { readonly kind: 'keep' }
  /** Those that groups give now, each once. */
  | { readonly kind: 'set'; readonly rights: readonly ServerRight[] }

/**
 * The rights of all groups that somebody is in, together. Memberships that are unknown change nothing.
 *
 * Names match in any letter case: they are keys of the configuration, and MeshCentral makes those lower-case.
 */
export function rightsByGroups(memberOf: Memberships, { rights }: Pick<GroupSettings, 'rights'>): RightsByGroups {
  if (rights === null || memberOf === 'unknown') return { kind: 'keep' }
  const inLowerCase = memberOf.map(({ name, aliases }) => ({
    name: name.toLowerCase(),
    aliases: aliases.map((alias) => alias.toLowerCase()),
  }))
  const given = rights.filter(({ group }) => inLowerCase.some((one) => isNamed(one, group.toLowerCase())))
  return { kind: 'set', rights: [...new Set(given.flatMap((one) => one.rights))] }
}
