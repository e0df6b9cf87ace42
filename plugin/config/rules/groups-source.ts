import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'
import type { PresetRules } from './preset-rules.ts'

/** Reports members of the Groups object that have no effect, and a `required` list that admits no user. */
export function checkGroupsSource(oidc: JsonObject, preset: PresetRules | null): readonly Finding[] {
  const { groups } = oidc
  if (!isJsonObject(groups)) return []
  const readsClaim = preset === null || (groups.claim !== undefined && !preset.ignoresClaim)
  return [
    ...(groups.recursive === true && readsClaim ? [recursionUnused(preset)] : []),
    ...(Array.isArray(groups.required) && groups.required.length === 0 ? [NOBODY_ADMITTED] : []),
  ]
}

function recursionUnused(preset: PresetRules | null): Finding {
  return {
    warning: 'no_effect',
    steps: ['groups', 'recursive'],
    reason: 'has no effect: groups come from a claim, whose content the IdP decides',
    remedy: preset
      ? `Remove it, or remove groups.claim so that the preset "${preset.name}" asks the vendor for groups.`
      : 'Remove it. To count memberships through other groups, have the IdP put these groups into the claim.',
  }
}

// An empty `groups.required` is only a warning, because an administrator may write it deliberately, to admit no user
// for a time.
const NOBODY_ADMITTED: Finding = {
  warning: 'nobody_admitted',
  steps: ['groups', 'required'],
  reason: 'is an empty list, so nobody can sign in',
  remedy: 'Name the groups that may sign in, or remove it to admit every user.',
}
