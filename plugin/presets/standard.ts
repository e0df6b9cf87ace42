import type { DomainSettings } from '../config/settings.ts'
import { claimedMemberships } from '../login/groups/memberships.ts'
import type { Preset } from './preset.ts'

const groupsClaim = ({ groups }: DomainSettings) => groups?.claim ?? 'groups'

/** Any OpenID provider: everything comes in claims. */
export const standard: Preset = {
  title: null,
  scopes: () => [],
  groupsClaim,
  claims: (claims) => claims,
  memberships: async ({ claims }, settings) => claimedMemberships(claims, groupsClaim(settings)),
}
