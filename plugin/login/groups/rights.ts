import { asciiLowerCase, lowerCaseButAscii } from '../../config/json/ascii-case.ts'
import type { GroupSettings, ServerRight } from '../../config/settings.ts'
import { isNamed, type Membership, type Memberships } from './memberships.ts'

/** The effect of a user's groups on rights below site admin. */
export type RightsByGroups =
  | { readonly kind: 'keep' }
  /** `rights` are all that the groups give, each once. */
  | { readonly kind: 'set'; readonly rights: readonly ServerRight[] }

/**
 * Unites the rights of all groups that a user is in. Unknown memberships change nothing.
 *
 * Names match in any ASCII letter case, because they are keys of the configuration, which MeshCentral lower-cases.
 */
export function rightsByGroups(memberOf: Memberships, { rights }: Pick<GroupSettings, 'rights'>): RightsByGroups {
  if (rights === null || memberOf === 'unknown') return { kind: 'keep' }
  const asciiLowered = memberOf.map((group) => inCase(group, asciiLowerCase))
  const fullyLowered = memberOf.map((group) => inCase(group, lowerCaseButAscii))
  const matching = rights.filter(({ group }) => {
    const key = asciiLowerCase(group)
    // MeshCentral also lower-cases letters beyond ASCII in its keys: "Ärzte" becomes "ärzte".
    const isLowered = key === lowerCaseButAscii(group)
    return (isLowered ? fullyLowered : asciiLowered).some((member) => isNamed(member, key))
  })
  return { kind: 'set', rights: [...new Set(matching.flatMap((rule) => rule.rights))] }
}

function inCase({ name, aliases }: Membership, lower: (text: string) => string): Membership {
  return { name: lower(name), aliases: aliases.map(lower) }
}
