import type { GroupSettings } from '../../config/settings.ts'
import { isNamed, type Memberships, UUID } from './memberships.ts'

/** The mirrored groups that a user joins and leaves. */
export interface GroupChanges {
  readonly join: readonly string[]
  readonly leave: readonly string[]
  /**
   * The number of the user's groups to mirror. Set only if it exceeds the limit; the user then joins no further group.
   */
  readonly tooMany?: number
}

/**
 * Limit of mirrored groups per user. A server writes the whole account for each group that the user joins, so 5,000
 * groups kept a server busy for 15 s.
 */
const MOST_MIRRORED = 1_000

/**
 * Decides which mirrored groups a user joins and leaves. Source: the specification's section Groups object, `sync`.
 *
 * @param mirrored the user's present mirrored groups
 */
export function groupChanges(
  memberOf: Memberships,
  sync: Exclude<GroupSettings['sync'], false>,
  mirrored: readonly string[],
): GroupChanges {
  if (memberOf === 'unknown') return { join: [], leave: [] }
  const chosen = memberOf.filter((group) => sync === 'all' || sync.some((name) => isNamed(group, name)))
  // Two groups of the IdP with the same name share one mirrored group. A user leaves the mirrored group only after
  // leaving both.
  const wanted = new Map(chosen.map(({ name }) => [mirrorKey(name), name]))
  const current = new Set(mirrored.map(mirrorKey))
  const isTooMany = wanted.size > MOST_MIRRORED
  return {
    join: isTooMany ? [] : [...wanted].flatMap(([key, name]) => (current.has(key) ? [] : [name])),
    leave: [...new Set(mirrored)].filter((name) => !wanted.has(mirrorKey(name))),
    ...(isTooMany && { tooMany: wanted.size }),
  }
}

// Returns a key that is equal for two spellings of the same mirrored group. An object id matches in any letter case,
// because the vendor may change its case.
function mirrorKey(name: string): string {
  return UUID.test(name) ? name.toLowerCase() : name
}
