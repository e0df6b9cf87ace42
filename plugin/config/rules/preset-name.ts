import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'
import type { PresetRules } from './preset-rules.ts'

export interface PresetChoice {
  /** Null: none. Undefined: the member cannot be understood, so nobody knows. */
  readonly preset: PresetRules | null | undefined
  /** Whether a configured issuer stays beside the preset, in place of its own. */
  readonly keepsIssuer: boolean
}

/**
 * Which preset applies: the configured one (null switches presets off), or by itself the one of the vendor that issued
 * the client id. Source: Custom object, preset rules.
 *
 * @param infer whether a member that a preset brings means that preset, and a configured issuer then stands, as with
 *   MeshCentral's own strategy
 */
export function choosePreset(oidc: JsonObject, presets: readonly PresetRules[], infer: boolean): PresetChoice {
  const custom = isJsonObject(oidc.custom) ? oidc.custom : {}
  if (Object.hasOwn(custom, 'preset')) {
    const preset = custom.preset === null ? null : presets.find(({ name }) => name === custom.preset)
    return { preset, keepsIssuer: false }
  }
  const clientId = isJsonObject(oidc.client) ? oidc.client.client_id : undefined
  const isMeant = (preset: PresetRules) =>
    (typeof clientId === 'string' && preset.issued(clientId)) || (infer && membersGiven(custom, preset).length > 0)
  return { preset: presets.find(isMeant) ?? null, keepsIssuer: infer }
}

/** What a preset needs beside its name, and says of what it does not need. */
export function checkPreset(oidc: JsonObject, preset: PresetRules, keepsIssuer: boolean): readonly Finding[] {
  const custom = isJsonObject(oidc.custom) ? oidc.custom : {}
  const issuer = besideIssuer(oidc.issuer, preset.name, keepsIssuer)
  return [...issuer, ...preset.check(custom, oidc.groups !== undefined)]
}

/** Members that only another preset makes use of. */
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
          at: ['custom', member],
          reason: `has no effect without the preset "${preset.name}"`,
          remedy: `Write "preset": "${preset.name}" beside it, or remove it.`,
        }),
      ),
    )
}

function membersGiven(custom: JsonObject, { members }: PresetRules): readonly string[] {
  return Object.keys(members).filter((name) => custom[name] !== undefined && custom[name] !== null)
}

/** The `oidc` object without the issuer, which a preset brings. Endpoints that were set by hand stay. */
export function withoutIssuer(oidc: JsonObject): JsonObject {
  const { issuer, ...rest } = oidc
  if (!isJsonObject(issuer)) return rest
  const { issuer: _ignored, ...endpoints } = issuer
  return { ...oidc, issuer: endpoints }
}

function besideIssuer(issuer: unknown, name: string, keepsIssuer: boolean): readonly Finding[] {
  const inside = isJsonObject(issuer)
  if (inside ? issuer.issuer === undefined : issuer === undefined) return []
  const at = inside ? ['issuer', 'issuer'] : ['issuer']
  if (keepsIssuer) {
    const reason = `is used in place of the one of the preset "${name}", which other members mean`
    const remedy = 'Remove it to use the issuer of the preset. For no preset set custom.preset to null.'
    return [{ warning: 'issuer_kept', at, reason, remedy }]
  }
  const remedy = `Remove it: the issuer of the preset "${name}" is used. To use your own, set custom.preset to null.`
  return [{ warning: 'issuer_ignored', at, reason: 'is ignored with a preset', remedy }]
}
