import { asciiLowerCase, lowerCaseButAscii } from '../../config/json/ascii-case.ts'
import type { GroupSettings, ServerRight } from '../../config/settings.ts'
import { isNamed, type Membership, type Memberships } from './memberships.ts'

/** What groups do to somebody's rights on the server, beside those of a site admin. */
export type RightsByGroups =
  | { readonly kind: 'keep' }
  /** Those that groups give now, each once. */
  | { readonly kind: 'set'; readonly rights: readonly ServerRight[] }

/**
 * Unites the rights of all groups that a user is in. Memberships that are unknown change nothing.
 *
 * Names match in any ASCII letter case: they are keys of the configuration, and MeshCentral makes those lower-case.
 */
export function rightsByGroups(memberOf: Memberships, { rights }: Pick<GroupSettings, 'rights'>): RightsByGroups {
  if (rights === null || memberOf === 'unknown') return { kind: 'keep' }
  const ascii = memberOf.map((group) => inCase(group, asciiLowerCase))
  const whole = memberOf.map((group) => inCase(group, lowerCaseButAscii))
  const given = rights.filter(({ group }) => {
    const key = asciiLowerCase(group)
    // MeshCentral has lowered other letters of its keys as well: "Ärzte" comes as "ärzte".
    const isLowered = key === lowerCaseButAscii(group)
    return (isLowered ? whole : ascii).some((one) => isNamed(one, key))
  })
  return { kind: 'set', rights: [...new Set(given.flatMap((one) => one.rights))] }
}

function inCase({ name, aliases }: Membership, lower: (text: string) => string): Membership {
  return { name: lower(name), aliases: aliases.map(lower) }
}
