import { asciiLowerCase, lowerCaseButAscii } from '../../config/json/ascii-case.ts'
import type { GroupSettings, ServerRight } from '../../config/settings.ts'
import { isNamed, type Membership, type Memberships } from './memberships.ts'

/** How a user's groups change the user's rights. Site admin is a separate right. */
export type RightsByGroups =
  | { readonly kind: 'keep' }
  /** The account gets exactly these rights: all that the user's groups give, without duplicates. */
  | { readonly kind: 'set'; readonly rights: readonly ServerRight[] }

/**
 * Combines the rights of all groups of a user. Group names match in any ASCII letter case, because MeshCentral converts
 * the configured ones to lower case.
 */
export function rightsByGroups(memberOf: Memberships, { rights }: Pick<GroupSettings, 'rights'>): RightsByGroups {
  if (rights === null || memberOf === 'unknown') return { kind: 'keep' }
  const asciiLowered = memberOf.map((group) => inCase(group, asciiLowerCase))
  const fullyLowered = memberOf.map((group) => inCase(group, lowerCaseButAscii))
  const matching = rights.filter(({ group }) => {
    const key = asciiLowerCase(group)
    // MeshCentral also converts letters beyond ASCII in its keys: "Ärzte" becomes "ärzte".
    const isLowered = key === lowerCaseButAscii(group)
    return (isLowered ? fullyLowered : asciiLowered).some((member) => isNamed(member, key))
  })
  return { kind: 'set', rights: [...new Set(matching.flatMap((rule) => rule.rights))] }
}

function inCase({ name, aliases }: Membership, lower: (text: string) => string): Membership {
  return { name: lower(name), aliases: aliases.map(lower) }
}
