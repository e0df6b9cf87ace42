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
 * Number of groups per page. The API allows 1,000, but 1,000 groups with long descriptions would approach this server's
 * size limit for answers.
 */
const PAGE_SIZE = '500'

/** The preset for Google. It admits any Google account, and reads the groups of one workspace. */
export const google: PresetDefinition<'google', 'issuer' | 'cloudIdentity'> = {
  name: 'google',
  urls: { issuer: 'https://accounts.google.com', cloudIdentity: 'https://cloudidentity.googleapis.com' },
  members: {
    customer_id: {
      type: 'string',
      // The customer id becomes part of a query that decides about memberships, so the pattern is strict.
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
      steps: ['custom', 'customer_id'],
      reason: 'is missing, but the preset "google" needs it for groups',
      remedy:
        'Write the customer id of the workspace account; it starts with C, and the Google Admin console shows it.',
    },
  ]
}

/**
 * The preset's behavior in logins. Reads groups from the Cloud Identity API: with a customer id, those of the
 * workspace, otherwise those of an identity source, which maps another directory.
 *
 * A rule matches a group's resource name, address or display name. If the API does not allow a search within the
 * company, a rule matches only addresses. Another company's group can have any name, but companies must prove that they
 * own an address's domain.
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
      // Google lets the user decline each scope separately.
      if (isGroupScopeDeclined(requestedGroupScopes(groups, custom), grantedScopes)) return []
      if (!accessToken)
        throw new Error('the request for groups needs an access token, so `client.response_types` must contain code')
      // The API finds members by e-mail address. An address that Google has not verified could belong to another user.
      if (!isText(claims.email) || isEmailVerified(claims) !== true)
        throw new Error('the account has no verified e-mail address')
      const { customer_id: customerId, identitysource } = custom.presetMembers
      if (customerId === undefined && identitysource === undefined)
        throw new Error('custom.customer_id is not configured')
      // `searchTransitiveGroups` requires Workspace Enterprise or Cloud Identity Premium. Other editions get 403.
      const method = groups?.recursive ? 'searchTransitiveGroups' : 'searchDirectGroups'
      const base = new URL(`${withoutTrailingSlashes(cloudIdentity)}/v1/groups/-/memberships:${method}`)
      const endsAt = access.clock.elapsed() + PAGES_MS
      const ask = (query: string, readGroup: GroupReader) => {
        const first = new URL(base)
        first.searchParams.set('query', query)
        first.searchParams.set('pageSize', PAGE_SIZE)
        return readPages(first, {
          fetch: access.fetch,
          clock: access.clock,
          accessToken,
          totalMs: Math.max(1, Math.ceil(endsAt - access.clock.elapsed())),
          read: (json) => readPage(json, first, readGroup),
        })
      }
      if (customerId === undefined) {
        const query = membersQuery(claims.email, MAPPED)
        // Limit the search to the identity source, because a group's key is unique only within it.
        return ask(`${query} && parent == ${celText(`identitysources/${identitysource}`)}`, groupOfCompany)
      }
      const query = membersQuery(claims.email, GROUPS)
      return ask(`${query} && parent == ${celText(`customers/${customerId}`)}`, groupOfCompany).catch(
        (error: unknown) => {
          // The API allows only administrators to limit the search to the company. Search without the limit for other
          // users.
          if (!(error instanceof RefusedPage && error.isFirst && error.status === 403)) throw error
          return ask(query, groupOfAnyCompany)
        },
      )
    },
  }
}

/** Returns the requested group scopes: `groups.scope`, and those in `custom.scope` that the API accepts as well. */
function requestedGroupScopes(groups: GroupSettings | null, custom: CustomSettings): readonly string[] {
  const scopes = groups?.scope ? [groups.scope] : []
  return [...scopes, ...custom.scope.filter((scope) => scope.startsWith('https://www.googleapis.com/auth/cloud'))]
}

/** Labels of the two kinds of groups: a workspace's own groups, and groups that are mapped from another directory. */
const GROUPS = 'cloudidentity.googleapis.com/groups.discussion_forum'
const MAPPED = 'system/groups/external'

function membersQuery(email: string, label: string): string {
  return `member_key_id == ${celText(email)} && '${label}' in labels`
}

/**
 * Formats a string literal of the Common Expression Language. Escapes apostrophes, so that an apostrophe in an address
 * does not end the literal.
 */
function celText(text: string): string {
  // Refuse control characters and lone surrogates. If they were removed, the result could be another user's address.
  if (/[\p{Cc}\p{Cs}]/u.test(text)) throw new Error('the e-mail address has characters that a search cannot contain')
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}

/**
 * Reads one group of the API's answer. Returns undefined if its shape is unexpected, and null if no rule can match the
 * group.
 */
type GroupReader = (entry: unknown) => Membership | null | undefined

function readPage(json: unknown, first: URL, readGroup: GroupReader): Page | undefined {
  if (!isJsonObject(json)) return undefined
  const { memberships: entries = [], nextPageToken = '', ...otherMembers } = json
  if (!Array.isArray(entries) || typeof nextPageToken !== 'string') return undefined
  // The API returns `{}` for an empty list. An answer with other members is not an empty list.
  if (entries.length === 0 && Object.keys(otherMembers).length > 0) return undefined
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

/**
 * Reads a group of any company, which rules match only by its address. Null if its id has a namespace or is no address.
 */
function groupOfAnyCompany(entry: unknown): Membership | null | undefined {
  const { group, groupKey } = membersOf(entry)
  if (!isText(group)) return undefined
  const { id, namespace } = membersOf(groupKey)
  return isText(id) && ADDRESS.test(id) && namespace === undefined ? { name: id, aliases: [] } : null
}

const ADDRESS = /^[^\s@]+@[^\s@]+$/
