import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'
import type { PresetRules } from './preset-rules.ts'

export interface PresetChoice {
  /**
   * The preset that applies. Null if none applies. Undefined if `custom.preset` is invalid, so that the preset is
   * unknown.
   */
  readonly preset: PresetRules | null | undefined
  /** Whether a configured issuer replaces the preset's issuer. */
  readonly keepsIssuer: boolean
}

/**
 * Chooses the preset that `custom.preset` names (null: none), else that of the vendor that issued the client id.
 * Source: Custom object, preset rules.
 *
 * @param infer true to follow MeshCentral's built-in strategy: a preset's members in `custom` choose it too, and a
 *   configured issuer replaces that of a preset without `custom.preset`
 */
export function choosePreset(oidc: JsonObject, presets: readonly PresetRules[], infer: boolean): PresetChoice {
  const custom = isJsonObject(oidc.custom) ? oidc.custom : {}
  if (Object.hasOwn(custom, 'preset')) {
    const preset = custom.preset === null ? null : presets.find(({ name }) => name === custom.preset)
    return { preset, keepsIssuer: false }
  }
  const clientId = isJsonObject(oidc.client) ? oidc.client.client_id : undefined
  const isImplied = (preset: PresetRules) =>
    (typeof clientId === 'string' && preset.issued(clientId)) || (infer && membersGiven(custom, preset).length > 0)
  return { preset: presets.find(isImplied) ?? null, keepsIssuer: infer }
}

/**
 * Reports missing members that the preset needs. Also reports a configured issuer, because the preset supplies the
 * issuer.
 */
export function checkPreset(oidc: JsonObject, preset: PresetRules, keepsIssuer: boolean): readonly Finding[] {
  const custom = isJsonObject(oidc.custom) ? oidc.custom : {}
  const issuer = checkIssuer(oidc.issuer, preset.name, keepsIssuer)
  return [...issuer, ...preset.check(custom, oidc.groups !== undefined)]
}

/** Reports members that belong to a preset other than the chosen one. */
export function checkUnusedMembers(
  { custom }: JsonObject,
  presets: readonly PresetRules[],
  chosen: PresetRules | null,
): readonly Finding[] {
  if (!isJsonObject(custom)) return []
  return presets
    .filter((preset) => preset !== chosen)
    .flatMap((preset) =>
      membersGiven(custom, preset).map(
        (member): Finding => ({
          warning: 'no_effect',
          steps: ['custom', member],
          reason: `has no effect without the preset "${preset.name}"`,
          remedy: `To use this preset, write "preset": "${preset.name}" in \`custom\`. Otherwise, remove this setting.`,
        }),
      ),
    )
}

function membersGiven(custom: JsonObject, { members }: PresetRules): readonly string[] {
  return Object.keys(members).filter((name) => custom[name] !== undefined && custom[name] !== null)
}

/** Removes the configured issuer, because the preset supplies it. Keeps configured endpoints. */
export function withoutIssuer(oidc: JsonObject): JsonObject {
  const { issuer, ...rest } = oidc
  if (!isJsonObject(issuer)) return rest
  const { issuer: _ignored, ...endpoints } = issuer
  return { ...oidc, issuer: endpoints }
}

function checkIssuer(issuer: unknown, name: string, keepsIssuer: boolean): readonly Finding[] {
  const isObject = isJsonObject(issuer)
  if (isObject ? issuer.issuer === undefined : issuer === undefined) return []
  const steps = isObject ? ['issuer', 'issuer'] : ['issuer']
  if (keepsIssuer) {
    const reason = `is used, although client.client_id or members of \`custom\` imply the preset "${name}", which has an issuer of its own`
    const remedy = "Remove it to use the preset's issuer. To use no preset, set custom.preset to null."
    return [{ warning: 'issuer_kept', steps, reason, remedy }]
  }
  const remedy = `Remove it, because the issuer of the preset "${name}" is used. To use your own, set custom.preset to null.`
  return [{ warning: 'issuer_ignored', steps, reason: 'is ignored with a preset', remedy }]
}
