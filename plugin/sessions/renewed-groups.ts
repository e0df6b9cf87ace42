import type { DomainSettings } from '../config/settings.ts'
import { LoginError } from '../errors.ts'
import { logFailure } from '../host/auth-log.ts'
import type { Host, OpenSession } from '../host/port.ts'
import { claimAt } from '../login/claim-path.ts'
import { decideAccess } from '../login/groups/access.ts'
import { type AppliedRules, applyGroupRules } from '../login/groups/apply-groups.ts'
import type { Memberships } from '../login/groups/memberships.ts'
import type { Preset } from '../presets/preset.ts'
import type { Renewed } from '../provider/tokens/renewal.ts'
import { lockOutRefusedUser } from './refused-user.ts'

export interface RenewedGroupsDeps {
  readonly host: Host
  readonly settings: DomainSettings
  readonly preset: Pick<Preset, 'groupsClaim' | 'claims' | 'memberships'>
}

/**
 * Applies the group rules if a renewed ID token has the groups claim, and confirms the account's login tokens. Logs
 * failures; never rejects.
 *
 * @returns false if the rules refuse the user, whose sessions have then ended
 */
export async function followRenewedGroups(
  session: OpenSession,
  renewed: Renewed,
  { host, settings, preset }: RenewedGroupsDeps,
): Promise<boolean> {
  const { userId } = session.signIn
  try {
    const memberships = await membershipsIn(renewed, settings, preset)
    const access = decideAccess(memberships, settings.groups)
    if (memberships !== 'unknown' && !access.admitted) {
      const endSessions = () => session.endAllOfUser?.() ?? session.end().then(() => 1)
      await lockOutRefusedUser(host, { settings, userId, req: null, endSessions })
      return false
    }
    const account = await host.accounts.find(settings.key, userId)
    // Change nothing for a locked account: a lock by an administrator takes precedence over group rules.
    if (!account || account.locked) return true
    if (memberships !== 'unknown') {
      logChanges(host, session, await applyGroupRules(userId, memberships, settings, host))
    }
    await host.loginTokens?.confirm(settings.key, userId, 'renewal')
  } catch (cause) {
    const failure = new LoginError('host_failed', { cause, details: { user: userId } })
    logFailure(host, null, settings.key, 'renewed-groups-failed', failure)
  }
  return true
}

/**
 * Reads the memberships from a renewed ID token. Returns `unknown` if the token has no groups claim, because some IdPs
 * send the claim only at a login.
 */
async function membershipsIn(
  { claims, tokens }: Renewed,
  settings: DomainSettings,
  preset: RenewedGroupsDeps['preset'],
): Promise<Memberships> {
  const name = preset.groupsClaim(settings)
  if (!settings.groups || !claims || name === null || claimAt(claims, name) === undefined) return 'unknown'
  const evidence = { claims: preset.claims(claims), accessToken: tokens.access }
  return preset.memberships(evidence, settings).catch(() => 'unknown' as const)
}

function logChanges(host: Host, { signIn }: OpenSession, applied: AppliedRules): void {
  const { siteAdmin, rights, joined, left } = applied
  if (siteAdmin === 'keep' && rights === undefined && joined.length === 0 && left.length === 0) return
  host.authLog({
    level: 'info',
    event: 'renewed-groups',
    message:
      "The IdP renewed a session, and the user's groups have changed. Site admin, rights and groups were updated.",
    domain: signIn.domainKey,
    fields: {
      user: signIn.userId,
      ...(siteAdmin === 'keep' ? {} : { siteAdmin }),
      ...(rights === undefined ? {} : { rights }),
      ...(joined.length > 0 ? { joined } : {}),
      ...(left.length > 0 ? { left } : {}),
    },
  })
}
