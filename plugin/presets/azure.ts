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

/** The preset for Microsoft Entra ID. Users come from the directory of one company. */
export const azure: PresetDefinition<'azure', 'login' | 'graph'> = {
  name: 'azure',
  urls: {
    /** Default base URL of the issuer, without `/<tenant_id>/v2.0` at its end. */
    login: 'https://login.microsoftonline.com',
    graph: 'https://graph.microsoft.com',
  },
  members: {
    tenant_id: {
      type: 'string',
      // The pattern is strict, because the id becomes part of the issuer's address.
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
  const steps = ['custom', 'tenant_id']
  const remedy = "Write the directory's tenant id; the vendor's portal shows it as Directory (tenant) ID."
  if (tenantId === undefined) return [{ steps, reason: 'is missing, but the preset "azure" needs it', remedy }]
  if (typeof tenantId !== 'string' || !OPEN_TENANTS.includes(tenantId.toLowerCase())) return []
  return [{ steps, reason: 'must name one directory: with this value, any Microsoft account could sign in', remedy }]
}

// Tenants that admit accounts of many directories. The last entry is the id of `consumers`, the directory of all
// personal accounts.
const OPEN_TENANTS = ['common', 'organizations', 'consumers', '9188040d-6c67-4c5b-b112-36a304b66dad']

/**
 * The preset's behavior in logins. Reads groups from Microsoft Graph, or from the configured groups claim. A rule
 * matches a group's object id or its display name.
 *
 * @see https://learn.microsoft.com/graph/api/user-list-memberof
 * @see https://learn.microsoft.com/graph/api/user-list-transitivememberof
 * @param graph base URL of the API
 */
export function azurePreset(graph: string, access: VendorAccess): Preset {
  return {
    title: 'Microsoft',
    // If a claim is configured, do not request the scope for Graph. Guests often may not use Graph, and the scope needs
    // an administrator's consent.
    scopes: ({ groups, custom }) =>
      groups?.scope && groups.claim === null && countsGroups(custom) ? [groups.scope] : [],
    renewalScope: 'offline_access',
    groupsClaim: ({ groups, custom }) => groups?.claim ?? (countsGroups(custom) ? null : 'roles'),
    // Tokens often lack `email`, so use `preferred_username` instead. Such an address always counts as unverified, even
    // if the token states that it is verified.
    claims: (claims) =>
      !isText(claims.email) && isText(claims.preferred_username)
        ? { ...claims, email: claims.preferred_username, email_verified: false }
        : claims,
    async memberships(evidence, settings) {
      const { groups, custom } = settings
      if (groups?.claim || !custom.authorities.includes('roles'))
        return groupMemberships(graph, access, evidence, groups)
      const roles = claimedMemberships(evidence, 'roles')
      if (roles === 'unknown' || !countsGroups(custom)) return roles
      const memberships = await groupMemberships(graph, access, evidence, groups)
      return memberships === 'unknown' ? memberships : [...roles, ...memberships]
    },
  }
}

function countsGroups({ authorities }: CustomSettings): boolean {
  return authorities.includes('groups')
}

async function groupMemberships(
  graph: string,
  access: VendorAccess,
  evidence: Evidence,
  groups: GroupSettings | null,
): Promise<Memberships> {
  const { claims, accessToken, grantedScopes } = evidence
  const claim = groups?.claim ?? null
  if (claim !== null && !(claim === 'groups' && isOverage(claims))) return claimedMemberships(evidence, claim)
  const inToken = idsInToken(claims, groups)
  if (inToken) return inToken
  if (!accessToken)
    throw new Error('the request for groups needs an access token, so `client.response_types` must contain code')
  const method = groups?.recursive ? 'transitiveMemberOf' : 'memberOf'
  const first = new URL(`${withoutTrailingSlashes(graph)}/v1.0/me/${method}/microsoft.graph.group`)
  first.searchParams.set('$select', 'id,displayName')
  first.searchParams.set('$top', '999')
  // Microsoft Graph treats a list of a single object type as an "advanced query". Such a query needs the parameter
  // `$count` and the header `ConsistencyLevel`.
  first.searchParams.set('$count', 'true')
  const headers = { consistencylevel: 'eventual' }
  const readGroup = claim === null ? groupByName : groupById
  return readPages(first, {
    fetch: access.fetch,
    clock: access.clock,
    accessToken,
    totalMs: PAGES_MS,
    headers,
    read: (json) => readPage(json, readGroup),
  }).catch((error: unknown): Memberships => {
    // Users cannot decline a scope at Microsoft. But a user can remove the scope from the address of the authorization
    // request.
    const requested = groups?.scope && claim === null ? [groups.scope] : []
    const isRefused = error instanceof RefusedPage && error.isFirst && error.status === 403
    if (isRefused && isGroupScopeDeclined(requested, grantedScopes)) return []
    throw error
  })
}

/**
 * Whether the token omits the user's groups. With more than 200, it names an address with them. An ID token through the
 * browser omits more than 5.
 *
 * @see https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference
 */
function isOverage(claims: Claims): boolean {
  const hasGroups = claims.hasgroups
  return (
    isClaimElsewhere(claims, 'groups') || (claims.groups === undefined && (hasGroups === true || hasGroups === 'true'))
  )
}

/**
 * Returns the groups in the token if all rules contain object ids and no groups are mirrored. Names would not match
 * otherwise, because the claim contains ids. By default, it also contains groups that the user is in through others.
 */
function idsInToken(claims: Claims, groups: GroupSettings | null): readonly Membership[] | undefined {
  if (groups?.sync !== false) return undefined
  const withRights = (groups.rights ?? []).map(({ group }) => group)
  const inRules = [...(groups.required ?? []), ...(groups.siteadmin ?? []), ...withRights]
  if (!inRules.every((name) => UUID.test(name))) return undefined
  if (claims.groups === undefined || isOverage(claims)) return undefined
  const memberships = membershipsOf(claims.groups)
  return memberships !== 'unknown' && memberships.every(({ name }) => UUID.test(name)) ? memberships : undefined
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
  // Every group has a name. If the response hides the name, throw, because rules with a name would not match although
  // the user may be in the group.
  if (!isText(displayName))
    throw new Error('the access token does not give access to the names of groups: see groups.scope')
  return groupOf(displayName, [id], UUID)
}

/** Reads a group of Microsoft Graph. Its id is the name, so that mirrored groups keep the claim's names. */
function groupById(entry: unknown): Membership | undefined {
  const { id, displayName } = membersOf(entry)
  if (!isText(id)) return undefined
  return { name: id, aliases: isText(displayName) && !UUID.test(displayName) ? [displayName] : [] }
}
