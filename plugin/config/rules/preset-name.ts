import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'
import type { PresetRules } from './preset-rules.ts'

/**
 * Which preset applies: the configured one (null switches presets off), or by itself the one of the vendor that issued the
 * client id. Undefined: the member cannot be understood, so nobody knows. Source: Custom object, preset rules.
 */
export function choosePreset(oidc: JsonObject, presets: readonly PresetRules[]): PresetRules | null | undefined {
  const custom = isJsonObject(oidc.custom) ? oidc.custom : {}
  if (Object.hasOwn(custom, 'preset')) {
    return custom.preset === null ? null : presets.find(({ name }) => name === custom.preset)
  }
  const clientId = isJsonObject(oidc.client) ? oidc.client.client_id : undefined
  return (typeof clientId === 'string' && presets.find((preset) => preset.issued(clientId))) || null
}

/** What a preset needs beside its name, and says of what it does not need. */
export function checkPreset(oidc: JsonObject, preset: PresetRules): readonly Finding[] {
  const custom = isJsonObject(oidc.custom) ? oidc.custom : {}
  return [...ignoredIssuer(oidc.issuer, preset.name), ...preset.check(custom, oidc.groups !== undefined)]
}

/** The `oidc` object without the issuer, which a preset brings. Endpoints that were set by hand stay. */
export function withoutIssuer(oidc: JsonObject): JsonObject {
  const { issuer, ...rest } = oidc
  if (!isJsonObject(issuer)) return rest
  const { issuer: _ignored, ...endpoints } = issuer
  return { ...oidc, issuer: endpoints }
}

function ignoredIssuer(issuer: unknown, name: string): readonly Finding[] {
  const inside = isJsonObject(issuer)
  if (inside ? issuer.issuer === undefined : issuer === undefined) return []
  const remedy = `Remove it: the issuer of the preset "${name}" is used. To use your own, set custom.preset to null.`
  return [
    {
      warning: 'issuer_ignored',
      at: inside ? ['issuer', 'issuer'] : ['issuer'],
      reason: 'is ignored with a preset',
      remedy,
    },
  ]
}
