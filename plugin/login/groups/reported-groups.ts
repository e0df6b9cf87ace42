import type { GroupSettings } from '../../config/settings.ts'
import { claimAt } from '../claim-path.ts'
import type { Claims } from '../profile.ts'
import type { Memberships } from './memberships.ts'

/** Names that a log line shows. */
const MOST_SHOWN = 50

/** What a login brought that tells of groups. */
export interface GroupEvidence {
  readonly claims: Claims
  /** Null: the IdP does not say, so all that were asked for. */
  readonly grantedScopes: readonly string[] | null
}

/**
 * What the IdP reported of a person's groups, for the log line of a refusal: an administrator has to see whether
 * somebody is in other groups than meant, or whether no groups came at all.
 *
 * @param claim where groups are read from; null: from an API
 * @param areTold whether the IdP has told groups of others of the domain lately
 */
export function reportedGroups(
  memberOf: Memberships,
  claim: string | null,
  { claims, grantedScopes }: GroupEvidence,
  rules: Pick<GroupSettings, 'scope'>,
  areTold: boolean,
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
      ? { missingClaim: claim, claimNames: Object.keys(claims).slice(0, MOST_SHOWN), cameForOthers: areTold }
      : {}),
    ...(isRefused ? { scopeNotGranted: scope } : {}),
  }
}

/** What to mend where somebody is refused for what {@link reportedGroups} says; undefined: the groups themselves. */
export function missingGroupsRemedy({
  missingClaim,
  scopeNotGranted,
  cameForOthers,
}: Readonly<Record<string, unknown>>): string | undefined {
  const refused = 'The user is in none of the groups in `groups.required`'
  // Before the scope: Keycloak leaves one out of those that it grants, unless its "Include in token scope" is on.
  if (cameForOthers) {
    return `${refused}, or in no group at all: the claim \`${missingClaim}\` came for others of this domain, so the IdP is set up to send it. Put the person into one of these groups there.`
  }
  // These have to fit a line's 300 characters.
  if (scopeNotGranted !== undefined) {
    return `${refused}: no groups came, and the IdP did not grant the scope for them, \`${scopeNotGranted}\`. Allow it to this client there (in Keycloak by "Add client scope" in the client; "Include in token scope" on), or set \`groups.scope\`. Or the user is in no group.`
  }
  if (missingClaim === undefined) return undefined
  return `${refused}. The claim \`${missingClaim}\` did not come: the user is in no group at all, or the IdP does not send it (Keycloak: a mapper with "Add to ID token"; Entra ID: "Add groups claim", or an app role); \`groups.claim\` can name one of \`claimNames\`.`
}
