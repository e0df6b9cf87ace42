import type { GroupSettings } from '../../config/settings.ts'
import { isNamed, type Memberships, UUID } from './memberships.ts'

export interface GroupChanges {
  readonly join: readonly string[]
  readonly leave: readonly string[]
  /** How many there are to mirror, where that is too many: none is joined. */
  readonly tooMany?: number
}

/**
 * Of one user. Servers write the whole account with each that is joined: 5,000 kept one busy for a quarter of a minute.
 */
const MOST_MIRRORED = 1_000

/**
 * Which mirrored groups a user joins and leaves at this login. Source: Groups object, `sync`.
 *
 * @param mirrored names of the mirrored groups that the user is in now; groups made by hand are never among them
 */
export function groupChanges(
  memberOf: Memberships,
  sync: Exclude<GroupSettings['sync'], false>,
  mirrored: readonly string[],
): GroupChanges {
  if (memberOf === 'unknown') return { join: [], leave: [] }
  const chosen = memberOf.filter((group) => sync === 'all' || sync.some((name) => isNamed(group, name)))
  // Two groups with one name are one mirrored group: it is joined once, and left when the user is in neither.
  const wanted = new Map(chosen.map(({ name }) => [mirrorKey(name), name]))
  const current = new Set(mirrored.map(mirrorKey))
  const isTooMany = wanted.size > MOST_MIRRORED
  return {
    join: isTooMany ? [] : [...wanted].flatMap(([key, name]) => (current.has(key) ? [] : [name])),
    leave: [...new Set(mirrored)].filter((name) => !wanted.has(mirrorKey(name))),
    ...(isTooMany && { tooMany: wanted.size }),
  }
}

// A group that is mirrored by its object id stays the same one when the vendor writes the id in other letters.
function mirrorKey(name: string): string {
  return UUID.test(name) ? name.toLowerCase() : name
}
