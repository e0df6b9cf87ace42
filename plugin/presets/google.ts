import type { Membership } from '../login/memberships.ts'
import type { Preset } from './preset.ts'
import { listMember, type Page, readPages, textMember, type VendorFetch } from './vendor-api.ts'

/**
 * Google: groups are those of the workspace, by the Cloud Identity API.
 * A rule matches a group's resource name, its address or its display name.
 *
 * @see https://cloud.google.com/identity/docs/reference/rest/v1/groups.memberships/searchDirectGroups
 * @param cloudIdentity base URL of the API
 */
export function googlePreset(cloudIdentity: string, fetch: VendorFetch): Preset {
  return {
    title: 'Google',
    scopes: ({ groups }) => (groups ? [groups.scope] : []),
    groupsClaim: () => null,
    claims: (claims) => claims,
    async memberships({ claims, accessToken }, { groups, custom }) {
      if (!accessToken) throw new Error('the flow brings no access token to ask for groups with')
      // The API looks members up by address: an address that Google does not vouch for could be somebody else's.
      if (typeof claims.email !== 'string' || claims.email_verified !== true)
        throw new Error('the account has no verified address')
      if (custom.customerId === null) throw new Error('custom.customer_id is not configured')
      // `searchTransitiveGroups` is for Workspace Enterprise and Cloud Identity Premium only: others are refused with 403.
      const method = groups?.recursive ? 'searchTransitiveGroups' : 'searchDirectGroups'
      const first = new URL(`${cloudIdentity.replace(/\/+$/, '')}/v1/groups/-/memberships:${method}`)
      first.searchParams.set('query', membersQuery(claims.email, custom.customerId))
      first.searchParams.set('pageSize', '1000')
      return readPages(fetch, first, accessToken, (json) => readPage(json, first))
    },
  }
}

// Display names are not unique, and a group of another customer can bear any name: hence the parent.
function membersQuery(email: string, customerId: string): string {
  const label = "'cloudidentity.googleapis.com/groups.discussion_forum' in labels"
  return `member_key_id == ${celText(email)} && ${label} && parent == ${celText(`customers/${customerId}`)}`
}

/** A string literal of the Common Expression Language: an apostrophe in an address must not end it. */
function celText(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&').replace(/\p{Cc}/gu, '')}'`
}

function readPage(json: unknown, first: URL): Page | undefined {
  const entries = listMember(json, 'memberships')
  if (!entries) return undefined
  const memberships: Membership[] = []
  for (const entry of entries) {
    const resource = textMember(entry, 'group')
    if (!resource) return undefined
    const address =
      typeof entry === 'object' && entry !== null ? textMember(Reflect.get(entry, 'groupKey'), 'id') : undefined
    const names = [textMember(entry, 'displayName'), address, resource].filter((name) => name !== undefined)
    const [name = resource, ...aliases] = names
    memberships.push({ name, aliases })
  }
  const token = textMember(json, 'nextPageToken')
  if (!token) return { memberships, next: undefined }
  const next = new URL(first)
  next.searchParams.set('pageToken', token)
  return { memberships, next }
}
