import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'
import type { PresetRules } from './preset-rules.ts'

/** What the Groups object says that changes nothing, or lets nobody in, where groups come from where they do. */
export function checkGroupsSource(oidc: JsonObject, preset: PresetRules | null): readonly Finding[] {
  const { groups } = oidc
  if (!isJsonObject(groups)) return []
  const inClaim = preset === null || (groups.claim !== undefined && !preset.ignoresClaim)
  return [
    ...(groups.recursive === true && inClaim ? [recursionUnused(preset)] : []),
    ...(Array.isArray(groups.required) && groups.required.length === 0 ? [NOBODY_ADMITTED] : []),
  ]
}

function recursionUnused(preset: PresetRules | null): Finding {
  return {
    warning: 'no_effect',
    at: ['groups', 'recursive'],
    reason: 'has no effect: groups come in a claim, and the IdP decides what stands there',
    remedy: preset
      ? `Remove it, or remove groups.claim to have the preset "${preset.name}" ask for groups.`
      : 'Remove it. The IdP itself can put groups of groups into the claim.',
  }
}

// It may be meant so, to close a server: no mistake that refuses the whole domain.
const NOBODY_ADMITTED: Finding = {
  warning: 'nobody_admitted',
  at: ['groups', 'required'],
  reason: 'is an empty list: nobody can sign in',
  remedy: 'Name the groups that may sign in, or remove it to let everybody in.',
}
