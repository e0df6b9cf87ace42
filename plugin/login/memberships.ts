/** A group that the IdP says a user is in. */
export interface Membership {
  /** What a mirrored group is called: the display name where there is one. */
  readonly name: string
  /** Other names that rules may use: an object id, an address, a resource name. */
  readonly aliases: readonly string[]
}

/** All groups of a user; `unknown` when they could not be learned, which is not the same as none. */
export type Memberships = readonly Membership[] | 'unknown'

const MOST_GROUPS = 5000

/**
 * Memberships from a groups claim: an array of names, one name, or objects with `name`, `id` or both.
 * A claim that is missing means none: that is how IdPs say it. Any other shape is unknown.
 */
export function membershipsOf(claim: unknown): Memberships {
  if (claim === undefined || claim === null) return []
  const entries: readonly unknown[] = Array.isArray(claim) ? claim : [claim]
  if (entries.length > MOST_GROUPS) return 'unknown'
  const memberships = new Map<string, Membership>()
  for (const entry of entries) {
    const membership = membershipOf(entry)
    if (!membership) return 'unknown'
    memberships.set(membership.name, membership)
  }
  return [...memberships.values()]
}

/** Whether a rule that says `name` means this group. Names match exactly, case included. */
export function isNamed(membership: Membership, name: string): boolean {
  return membership.name === name || membership.aliases.includes(name)
}

function membershipOf(entry: unknown): Membership | undefined {
  if (typeof entry === 'string') return entry === '' ? undefined : { name: entry, aliases: [] }
  if (typeof entry !== 'object' || entry === null) return undefined
  const { name, id }: { name?: unknown; id?: unknown } = entry
  const [first, ...aliases] = [name, id].filter((value): value is string => typeof value === 'string' && value !== '')
  return first === undefined ? undefined : { name: first, aliases }
}
