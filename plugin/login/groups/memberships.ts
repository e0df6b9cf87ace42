import { isJsonObject } from '../../config/json/json-object.ts'
import { claimAt } from '../claim-path.ts'
import type { Claims } from '../profile.ts'

/** A group that the user is in, according to the IdP. */
export interface Membership {
  /**
   * The group's display name, if it has one. Otherwise the identifier that the IdP sent. The mirrored group gets this
   * name.
   */
  readonly name: string
  /** Other names of the group that rules may use: an object id, an address, or a resource name. */
  readonly aliases: readonly string[]
}

/** The claims of a login that memberships are read from. */
export interface ClaimEvidence {
  readonly claims: Claims
  /** Whether a required UserInfo request got no answer, so that claims may be missing. */
  readonly isPartial?: boolean
}

/** All groups of a user, or `unknown` if they could not be read. */
export type Memberships = readonly Membership[] | 'unknown'

/** Matches the object id of a group, which is a UUID. */
export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * Reads a groups claim: an array of names, one name, or objects with `name`, `id` or both. In an object of objects, the
 * member names are the groups (Zitadel). Without the claim, there are no groups. Any other shape means `unknown`.
 */
export function membershipsOf(claim: unknown): Memberships {
  if (claim === undefined || claim === null) return []
  if (isJsonObject(claim) && Object.values(claim).every(isJsonObject)) return membershipsOf(Object.keys(claim))
  const entries: readonly unknown[] = Array.isArray(claim) ? claim : [claim]
  const memberships = entries.map(membershipOf)
  return memberships.every((membership) => membership !== undefined) ? memberships : 'unknown'
}

/**
 * Reads memberships from the claim with this name or dotted path.
 *
 * @throws Error if the claim is at another source, or missing while UserInfo did not answer
 */
export function claimedMemberships({ claims, isPartial = false }: ClaimEvidence, name: string): Memberships {
  if (isClaimElsewhere(claims, name)) throw new Error('the IdP left the groups claim out and refers to another place')
  if (isPartial && claimAt(claims, name) === undefined) {
    throw new Error('the groups claim is not in the ID token, and UserInfo gave no answer')
  }
  return membershipsOf(claimAt(claims, name))
}

/**
 * Whether the IdP omitted a claim and refers to another source for it. Source: OpenID Connect Core 1.0, section 5.6.2.
 */
export function isClaimElsewhere(claims: Claims, name: string): boolean {
  const elsewhere = claims._claim_names
  return (
    claimAt(claims, name) === undefined &&
    typeof elsewhere === 'object' &&
    elsewhere !== null &&
    Object.hasOwn(elsewhere, name)
  )
}

/**
 * Returns a group with its identifiers and name. Ignores a name that looks like an identifier. Otherwise users who may
 * create groups could imitate the group that a rule means.
 */
export function groupOf(
  displayName: string | undefined,
  identifiers: readonly [string, ...string[]],
  identifierShape: RegExp,
): Membership {
  if (displayName !== undefined && !identifierShape.test(displayName))
    return { name: displayName, aliases: identifiers }
  const [name, ...aliases] = identifiers
  return { name, aliases }
}

/**
 * Whether a rule names this group. Names match exactly, but object ids in any letter case, because vendors write both.
 */
export function isNamed({ name: groupName, aliases }: Membership, name: string): boolean {
  if (groupName === name || aliases.includes(name)) return true
  if (!UUID.test(name)) return false
  const id = name.toLowerCase()
  return groupName.toLowerCase() === id || aliases.some((alias) => alias.toLowerCase() === id)
}

function membershipOf(entry: unknown): Membership | undefined {
  if (isText(entry)) return { name: entry, aliases: [] }
  if (typeof entry !== 'object' || entry === null) return undefined
  const { name, id }: { name?: unknown; id?: unknown } = entry
  if (isText(id)) return groupOf(isText(name) ? name : undefined, [id], UUID)
  return isText(name) ? { name, aliases: [] } : undefined
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
