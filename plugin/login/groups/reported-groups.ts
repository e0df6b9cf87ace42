import type { GroupSettings } from '../../config/settings.ts'
import { claimAt } from '../claim-path.ts'
import type { Claims } from '../profile.ts'
import type { Memberships } from './memberships.ts'

/** Limit of the names of groups or claims that one log line lists. */
const MOST_SHOWN = 50

/** The parts of a login that show which groups the IdP sent. */
export interface GroupEvidence {
  readonly claims: Claims
  /** The scopes that the IdP granted. Null if it does not name them, which means that it granted all requested ones. */
  readonly grantedScopes: readonly string[] | null
}

/**
 * Returns the groups that the IdP sent, if any, for the log line of a refused login.
 *
 * @param claim null if groups come from an API
 * @param cameForOthers whether the IdP sent groups of the domain's other users since this process started
 */
export function reportedGroups(
  memberOf: Memberships,
  claim: string | null,
  { claims, grantedScopes }: GroupEvidence,
  rules: Pick<GroupSettings, 'scope'>,
  cameForOthers: boolean,
): Readonly<Record<string, unknown>> {
  if (memberOf === 'unknown') return {}
  const names = memberOf.map(({ name, aliases }) => (aliases.length > 0 ? `${name} (${aliases.join(', ')})` : name))
  const more = names.length > MOST_SHOWN ? { groupCount: names.length } : {}
  if (names.length > 0) return { groups: names.slice(0, MOST_SHOWN), ...more }
  const { scope } = rules
  const isRefused = scope !== null && grantedScopes !== null && !grantedScopes.includes(scope)
  return {
    groups: [],
    ...(claim !== null && claimAt(claims, claim) === undefined
      ? { missingClaim: claim, claimNames: Object.keys(claims).slice(0, MOST_SHOWN), cameForOthers }
      : {}),
    ...(isRefused ? { scopeNotGranted: scope } : {}),
  }
}

/**
 * Returns the remedy for a refused login without groups, from the fields of {@link reportedGroups}. Undefined with
 * groups.
 */
export function missingGroupsRemedy({
  missingClaim,
  scopeNotGranted,
  cameForOthers,
}: Readonly<Record<string, unknown>>): string | undefined {
  const refused = 'The user is in none of the groups in `groups.required`'
  // If groups of other users came, the scope may be granted but not listed: Keycloak's "Include in token scope" is off.
  if (cameForOthers) {
    return `${refused}, or in no group at all. The IdP does send the claim \`${missingClaim}\` for other users of this domain. Add the user to one of the required groups at the IdP.`
  }
  // Keep each remedy within 300 characters, because log lines cut longer texts.
  if (scopeNotGranted !== undefined) {
    return `${refused}: the IdP sent no groups, and did not grant the scope \`${scopeNotGranted}\` for them. Allow it to this client (Keycloak: "Add client scope" in the client, "Include in token scope" on), or set \`groups.scope\`. Or the user is in no group.`
  }
  if (missingClaim === undefined) return undefined
  return `${refused}. The claim \`${missingClaim}\` did not come: the user is in no group at all, or the IdP does not send it (Keycloak: mapper with "Add to ID token"; Entra ID: "Add groups claim" or app role). Or set \`groups.claim\` to one of \`claimNames\`.`
}
