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
 * Reads memberships from a groups claim: an array of names, a single name, or objects with `name`, `id` or both. If the
 * claim is an object that has only objects as values, its member names are the groups, as in Zitadel's roles. A missing
 * claim means no memberships, because IdPs express "no groups" that way. Any other shape means `unknown`.
 */
export function membershipsOf(claim: unknown): Memberships {
  if (claim === undefined || claim === null) return []
  if (isJsonObject(claim) && Object.values(claim).every(isJsonObject)) return membershipsOf(Object.keys(claim))
  const entries: readonly unknown[] = Array.isArray(claim) ? claim : [claim]
  const memberships = entries.map(membershipOf)
  return memberships.every((membership) => membership !== undefined) ? memberships : 'unknown'
}

/**
 * Reads memberships from the claim with this name. The name may be a dotted path.
 *
 * @throws Error if the IdP refers to another source for the claim. Also throws if the claim is missing and UserInfo,
 *   which may contain it, did not answer
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
 * Returns a group with its identifiers and its display name. Ignores a display name that looks like an identifier.
 * Otherwise a user who may create groups could name a group like another group's identifier. That group would then
 * match rules that use the identifier.
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
 * Whether a name in a rule matches this group. Names match exactly, including case. Object ids match in any letter
 * case, because vendors write the same id sometimes in upper case and sometimes in lower case.
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
