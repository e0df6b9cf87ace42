import type { Host, UserId } from '../../host/port.ts'
import type { Memberships } from '../../login/groups/memberships.ts'
import type { Evidence } from '../../presets/preset.ts'
import type { WorkingStrategy } from '../strategy.ts'

/**
 * Reads the user's groups as the domain's preset requires. On failure, logs `memberships-unknown` and returns
 * `unknown`. Never rejects.
 */
export async function readMemberships(
  evidence: Evidence,
  { settings, preset }: Pick<WorkingStrategy, 'settings' | 'preset'>,
  { authLog }: Pick<Host, 'authLog'>,
  user: UserId,
): Promise<Memberships> {
  let reason = 'the groups claim has an unusable type'
  const memberships = await preset.memberships(evidence, settings).catch((error: unknown): 'unknown' => {
    reason = error instanceof Error ? error.message : String(error)
    return 'unknown'
  })
  if (memberships === 'unknown') {
    authLog({
      level: 'warn',
      event: 'memberships-unknown',
      message: 'The group memberships of a user could not be read; groups and rights stay as they are.',
      domain: settings.key,
      fields: { user, reason },
    })
  }
  return memberships
}
