import { withoutTrailingSlashes } from '../config/domains/trailing-slashes.ts'
import { membersOf } from '../config/json/json-object.ts'
import type { Finding } from '../config/problem.ts'
import type { CustomSettings, GroupSettings } from '../config/settings.ts'
import {
  claimedMemberships,
  groupOf,
  isClaimElsewhere,
  type Membership,
  type Memberships,
  membershipsOf,
  UUID,
} from '../login/groups/memberships.ts'
import type { Claims } from '../login/profile.ts'
import { isGroupScopeDeclined } from './declined-scope.ts'
import type { Evidence, Preset, PresetDefinition } from './preset.ts'
import { isText, PAGES_MS, type Page, RefusedPage, readPages, type VendorAccess } from './vendor-api.ts'

/** Microsoft Entra ID: the directory of one company. */
export const azure: PresetDefinition<'azure', 'login' | 'graph'> = {
  name: 'azure',
  urls: {
    /** What stands before `/<tenant_id>/v2.0` in the issuer. */
    login: 'https://login.microsoftonline.com',
    graph: 'https://graph.microsoft.com',
  },
  members: {
    tenant_id: {
      type: 'string',
      // It becomes a part of the issuer's address.
      pattern: '^[0-9A-Za-z][0-9A-Za-z._-]*$',
      description: "Write the directory's tenant id.",
    },
  },
  groupScope: 'Group.Read.All',
  issued: () => false,
  check: ({ tenant_id }) => checkTenant(tenant_id),
  issuer: ({ login }, { tenant_id = '' }) => `${withoutTrailingSlashes(login)}/${tenant_id}/v2.0`,
  open: ({ graph }, access) => azurePreset(graph, access),
}

function checkTenant(tenantId: unknown): readonly Finding[] {
  const at = ['custom', 'tenant_id']
  const remedy = "Write the directory's tenant id; the vendor's portal shows it as Directory (tenant) ID."
  if (tenantId === undefined) return [{ at, reason: 'is missing, and the preset "azure" needs it', remedy }]
  if (typeof tenantId !== 'string' || !OPEN_TENANTS.includes(tenantId.toLowerCase())) return []
  return [{ at, reason: 'must name one directory: with this value any account of the vendor could sign in', remedy }]
}

// The last one is what `consumers` stands for: the directory of all personal accounts.
const OPEN_TENANTS = ['common', 'organizations', 'consumers', '9188040d-6c67-4c5b-b112-36a304b66dad']

/**
 * Logins of the directory: groups are those of the directory, by Microsoft Graph, unless a claim is configured for
 * them. A rule matches a group's object id or its display name.
 *
 * Without a configured claim, the ids in the token's claim `groups` are enough where every rule says ids and nothing is
 * mirrored: then Graph is not asked. A rule with a display name would not be met by them, and mirrored groups would
 * change their names. The ids in a token are those of groups through other groups too, unless the directory says
 * otherwise for this application.
 *
 * @see https://learn.microsoft.com/graph/api/user-list-memberof
 * @see https://learn.microsoft.com/graph/api/user-list-transitivememberof
 * @param graph base URL of the API
 */
export function azurePreset(graph: string, access: VendorAccess): Preset {
  return {
    title: 'Microsoft',
    // With a claim, Graph is not asked: guests may often not use it, and its scope needs an administrator's consent.
    scopes: ({ groups, custom }) =>
      groups?.scope && groups.claim === null && takesGroups(custom) ? [groups.scope] : [],
    renewalScope: 'offline_access',
    groupsClaim: ({ groups, custom }) => groups?.claim ?? (takesGroups(custom) ? null : 'roles'),
    // Often there is no `email`. The stand-in is no verified address, whatever the token says of one.
    claims: (claims) =>
      !isText(claims.email) && isText(claims.preferred_username)
        ? { ...claims, email: claims.preferred_username, email_verified: false }
        : claims,
    async memberships(evidence, settings) {
      const { groups, custom } = settings
      if (groups?.claim || !custom.authorities.includes('roles')) return ofGroups(graph, access, evidence, groups)
      const roles = claimedMemberships(evidence, 'roles')
      if (roles === 'unknown' || !takesGroups(custom)) return roles
      const others = await ofGroups(graph, access, evidence, groups)
      return others === 'unknown' ? others : [...roles, ...others]
    },
  }
}

function takesGroups({ authorities }: CustomSettings): boolean {
  return authorities.includes('groups')
}

async function ofGroups(
  graph: string,
  access: VendorAccess,
  evidence: Evidence,
  groups: GroupSettings | null,
): Promise<Memberships> {
  const { claims, accessToken, grantedScopes } = evidence
  const claim = groups?.claim ?? null
  if (claim !== null && !(claim === 'groups' && isOverage(claims))) return claimedMemberships(evidence, claim)
  const told = claim === null ? idsInToken(claims, groups) : undefined
  if (told) return told
  if (!accessToken) throw new Error('the flow brings no access token to ask for groups with')
  const method = groups?.recursive ? 'transitiveMemberOf' : 'memberOf'
  const first = new URL(`${withoutTrailingSlashes(graph)}/v1.0/me/${method}/microsoft.graph.group`)
  first.searchParams.set('$select', 'id,displayName')
  first.searchParams.set('$top', '999')
  // A list that is narrowed down to one type is an advanced query, which needs both.
  first.searchParams.set('$count', 'true')
  const headers = { consistencylevel: 'eventual' }
  const readGroup = claim === null ? groupByName : groupById
  return readPages(first, {
    ...access,
    accessToken,
    totalMs: PAGES_MS,
    headers,
    read: (json) => readPage(json, readGroup),
  }).catch((error: unknown): Memberships => {
    // Nobody can untick a scope there, but anybody can take it out of the address that the browser is sent to.
    const asked = groups?.scope && claim === null ? [groups.scope] : []
    const isRefused = error instanceof RefusedPage && error.isFirst && error.status === 403
    if (isRefused && isGroupScopeDeclined(asked, grantedScopes)) return []
    throw error
  })
}

/**
 * Over 200 groups, the token says where they are instead of which; over 5 where the ID token comes with the browser, it
 * says only that there are some.
 *
 * @see https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference
 */
function isOverage(claims: Claims): boolean {
  const has = claims.hasgroups
  return isClaimElsewhere(claims, 'groups') || (claims.groups === undefined && (has === true || has === 'true'))
}

/** The groups that the token itself tells, where its ids answer all that is asked of them; else undefined. */
function idsInToken(claims: Claims, groups: GroupSettings | null): readonly Membership[] | undefined {
  const rules = [...(groups?.required ?? []), ...(groups?.siteadmin ?? [])]
  if (groups?.sync !== false || !rules.every((name) => UUID.test(name))) return undefined
  if (claims.groups === undefined || isOverage(claims)) return undefined
  const told = membershipsOf(claims.groups)
  return told !== 'unknown' && told.every(({ name }) => UUID.test(name)) ? told : undefined
}

function readPage(json: unknown, readGroup: (entry: unknown) => Membership | undefined): Page | undefined {
  const { value: entries, '@odata.nextLink': link } = membersOf(json)
  if (!Array.isArray(entries)) return undefined
  const memberships = entries.map(readGroup)
  if (!memberships.every((membership) => membership !== undefined)) return undefined
  if (link === undefined) return { memberships, next: undefined }
  return typeof link === 'string' && URL.canParse(link) ? { memberships, next: new URL(link) } : undefined
}

function groupByName(entry: unknown): Membership | undefined {
  const { id, displayName } = membersOf(entry)
  if (!isText(id)) return undefined
  // Every group has a name. A rule that says it would not be met, which is not the same as not being in the group.
  if (!isText(displayName)) throw new Error('the access token does not show the names of groups: see groups.scope')
  return groupOf(displayName, [id], UUID)
}

/** In the place of a claim with ids: mirrored groups keep the names that they have from it. */
function groupById(entry: unknown): Membership | undefined {
  const { id, displayName } = membersOf(entry)
  if (!isText(id)) return undefined
  return { name: id, aliases: isText(displayName) && !UUID.test(displayName) ? [displayName] : [] }
}
