import { withoutTrailingSlashes } from '../config/domains/trailing-slashes.ts'
import { isJsonObject, membersOf } from '../config/json/json-object.ts'
import type { Finding } from '../config/problem.ts'
import type { CustomSettings, GroupSettings } from '../config/settings.ts'
import { groupOf, type Membership } from '../login/groups/memberships.ts'
import { isEmailVerified } from '../login/profile.ts'
import { isGroupScopeDeclined } from './declined-scope.ts'
import type { Preset, PresetDefinition } from './preset.ts'
import { isText, PAGES_MS, type Page, RefusedPage, readPages, type VendorAccess } from './vendor-api.ts'

/**
 * Half of what the API gives at most: a thousand groups with long descriptions would come near the limit on the size of
 * answers.
 */
const PAGE_SIZE = '500'

/** Google: any account of the vendor, groups of one workspace. */
export const google: PresetDefinition<'google', 'issuer' | 'cloudIdentity'> = {
  name: 'google',
  urls: { issuer: 'https://accounts.google.com', cloudIdentity: 'https://cloudidentity.googleapis.com' },
  members: {
    customer_id: {
      type: 'string',
      // It becomes a part of a query that decides about memberships.
      pattern: '^C[0-9A-Za-z_-]*$',
      description: 'Write the customer id of the workspace account; it starts with C.',
    },
    identitysource: {
      type: 'string',
      pattern: '^[0-9A-Za-z_-]+$',
      description: 'Write the id of the identity source whose groups count, without "identitysources/".',
    },
  },
  ignoresClaim: true,
  groupScope: 'https://www.googleapis.com/auth/cloud-identity.groups.readonly',
  issued: (clientId) => clientId.endsWith('.apps.googleusercontent.com'),
  check: ({ customer_id, identitysource }, withGroups) =>
    withGroups && identitysource === undefined ? checkCustomer(customer_id) : [],
  issuer: ({ issuer }) => issuer,
  open: ({ cloudIdentity }, access) => googlePreset(cloudIdentity, access),
}

function checkCustomer(customerId: unknown): readonly Finding[] {
  if (customerId !== undefined) return []
  return [
    {
      at: ['custom', 'customer_id'],
      reason: 'is missing, and the preset "google" needs it for groups',
      remedy: "Write the customer id of the workspace account; it starts with C, and the vendor's console shows it.",
    },
  ]
}

/**
 * Logins with Google: groups are those of the workspace, by the Cloud Identity API. A rule matches a group's resource
 * name, its address or its display name. Display names are not unique, and a group of another company can bear any:
 * where the API does not let the search be limited to the company, a rule matches addresses alone, which are of a
 * domain that its company has proved to own. Without a customer id, groups are those of an identity source: mapped from
 * another directory.
 *
 * @see https://cloud.google.com/identity/docs/reference/rest/v1/groups.memberships/searchDirectGroups
 * @see https://cloud.google.com/identity/docs/reference/rest/v1/groups.memberships/searchTransitiveGroups
 * @param cloudIdentity base URL of the API
 */
export function googlePreset(cloudIdentity: string, access: VendorAccess): Preset {
  return {
    title: 'Google',
    scopes: ({ groups }) => (groups?.scope ? [groups.scope] : []),
    groupsClaim: () => null,
    claims: (claims) => claims,
    async memberships({ claims, accessToken, grantedScopes }, { groups, custom }) {
      // Google lets the user untick each scope.
      if (isGroupScopeDeclined(groupScopesAsked(groups, custom), grantedScopes)) return []
      if (!accessToken) throw new Error('the flow brings no access token to ask for groups with')
      // The API looks members up by address: one that Google does not vouch for could be somebody else's.
      if (!isText(claims.email) || isEmailVerified(claims) !== true)
        throw new Error('the account has no verified address')
      const { customer_id: customerId, identitysource } = custom.presetMembers
      if (customerId === undefined && identitysource === undefined)
        throw new Error('custom.customer_id is not configured')
      // `searchTransitiveGroups` is for Workspace Enterprise and Cloud Identity Premium only: others are refused with
      // 403.
      const method = groups?.recursive ? 'searchTransitiveGroups' : 'searchDirectGroups'
      const base = new URL(`${withoutTrailingSlashes(cloudIdentity)}/v1/groups/-/memberships:${method}`)
      const endsAt = access.clock.elapsed() + PAGES_MS
      const ask = (query: string, readGroup: GroupReader) => {
        const first = new URL(base)
        first.searchParams.set('query', query)
        first.searchParams.set('pageSize', PAGE_SIZE)
        return readPages(first, {
          ...access,
          accessToken,
          totalMs: Math.max(1, Math.ceil(endsAt - access.clock.elapsed())),
          read: (json) => readPage(json, first, readGroup),
        })
      }
      if (customerId === undefined) {
        const query = membersQuery(claims.email, MAPPED)
        // Never without the parent: what identifies a group there is unique within its identity source alone.
        return ask(`${query} && parent == ${celText(`identitysources/${identitysource}`)}`, groupOfCompany)
      }
      const query = membersQuery(claims.email, GROUPS)
      return ask(`${query} && parent == ${celText(`customers/${customerId}`)}`, groupOfCompany).catch(
        (error: unknown) => {
          // The API lets nobody but administrators name the company.
          if (!(error instanceof RefusedPage && error.isFirst && error.status === 403)) throw error
          return ask(query, groupOfAnybody)
        },
      )
    },
  }
}

/** `groups.scope`, or what stands in `custom.scope` in its place: the API accepts several. */
function groupScopesAsked(groups: GroupSettings | null, custom: CustomSettings): readonly string[] {
  const own = groups?.scope ? [groups.scope] : []
  return [...own, ...custom.scope.filter((scope) => scope.startsWith('https://www.googleapis.com/auth/cloud'))]
}

/** Labels of the two kinds: a workspace's own groups, and those that were mapped from another directory. */
const GROUPS = 'cloudidentity.googleapis.com/groups.discussion_forum'
const MAPPED = 'system/groups/external'

function membersQuery(email: string, label: string): string {
  return `member_key_id == ${celText(email)} && '${label}' in labels`
}

/** A string literal of the Common Expression Language: an apostrophe in an address must not end it. */
function celText(text: string): string {
  // Not dropped: what is left could be the address of somebody else.
  if (/[\p{Cc}\p{Cs}]/u.test(text)) throw new Error('the address has characters that no search can carry')
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}

/** Undefined: the entry is not of the expected shape. Null: it is a group that no rule can mean. */
type GroupReader = (entry: unknown) => Membership | null | undefined

function readPage(json: unknown, first: URL, readGroup: GroupReader): Page | undefined {
  if (!isJsonObject(json)) return undefined
  const { memberships: entries = [], nextPageToken = '', ...others } = json
  if (!Array.isArray(entries) || typeof nextPageToken !== 'string') return undefined
  // An empty list comes as `{}`. Where there is something else instead, it is not an empty list.
  if (entries.length === 0 && Object.keys(others).length > 0) return undefined
  const read = entries.map(readGroup)
  if (!read.every((membership) => membership !== undefined)) return undefined
  const memberships = read.filter((membership) => membership !== null)
  if (nextPageToken === '') return { memberships, next: undefined }
  const next = new URL(first)
  next.searchParams.set('pageToken', nextPageToken)
  return { memberships, next }
}

function groupOfCompany(entry: unknown): Membership | undefined {
  const { group, groupKey, displayName } = membersOf(entry)
  if (!isText(group)) return undefined
  const address = membersOf(groupKey).id
  const identifiers = isText(address) ? ([address, group] as const) : ([group] as const)
  return groupOf(isText(displayName) ? displayName : undefined, identifiers, /^groups\/|^[^\s@]+@\S+$/)
}

/** Of any company: known by its address alone. A group with a namespace has an id there that is no address. */
function groupOfAnybody(entry: unknown): Membership | null | undefined {
  const { group, groupKey } = membersOf(entry)
  if (!isText(group)) return undefined
  const { id, namespace } = membersOf(groupKey)
  return isText(id) && ADDRESS.test(id) && namespace === undefined ? { name: id, aliases: [] } : null
}

const ADDRESS = /^[^\s@]+@[^\s@]+$/
