import { type Membership, membershipsOf } from '../login/memberships.ts'
import type { Preset } from './preset.ts'
import { listMember, type Page, readPages, textMember, type VendorFetch } from './vendor-api.ts'

/**
 * Microsoft Entra ID: groups are those of the directory, by Microsoft Graph, unless a claim is configured for them.
 * A rule matches a group's object id or its display name.
 *
 * @see https://learn.microsoft.com/graph/api/user-list-memberof
 * @param graph base URL of the API
 */
export function azurePreset(graph: string, fetch: VendorFetch): Preset {
  return {
    title: 'Microsoft',
    // With a claim, Graph is not asked: guests may often not use it, and its scope needs an administrator's consent.
    scopes: ({ groups }) => (groups && groups.claim === null ? [groups.scope] : []),
    groupsClaim: ({ groups }) => groups?.claim ?? null,
    // Often there is no `email`. The stand-in is no verified address, whatever the token says of one.
    claims: (claims) =>
      claims.email === undefined && claims.preferred_username !== undefined
        ? { ...claims, email: claims.preferred_username, email_verified: false }
        : claims,
    async memberships({ claims, accessToken }, { groups }) {
      const claim = groups?.claim ?? null
      if (claim !== null && !(claim === 'groups' && isOverage(claims))) return membershipsOf(claims[claim])
      if (!accessToken) throw new Error('the flow brings no access token to ask for groups with')
      const method = groups?.recursive ? 'transitiveMemberOf' : 'memberOf'
      const first = new URL(`${graph.replace(/\/+$/, '')}/v1.0/me/${method}/microsoft.graph.group`)
      first.searchParams.set('$select', 'id,displayName')
      first.searchParams.set('$top', '999')
      return readPages(fetch, first, accessToken, readPage)
    },
  }
}

/** Over 200 groups, the token says where they are instead of which. */
function isOverage(claims: Readonly<Record<string, unknown>>): boolean {
  return claims.groups === undefined && textMember(claims._claim_names, 'groups') !== undefined
}

function readPage(json: unknown): Page | undefined {
  const entries = listMember(json, 'value')
  if (!entries) return undefined
  const memberships: Membership[] = []
  for (const entry of entries) {
    const id = textMember(entry, 'id')
    if (!id) return undefined
    const name = textMember(entry, 'displayName')
    memberships.push(name === undefined ? { name: id, aliases: [] } : { name, aliases: [id] })
  }
  const link = textMember(json, '@odata.nextLink')
  if (link !== undefined && !URL.canParse(link)) return undefined
  return { memberships, next: link === undefined ? undefined : new URL(link) }
}
