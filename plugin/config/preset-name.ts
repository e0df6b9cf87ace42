import { isJsonObject, type JsonObject } from './json-object.ts'
import type { Finding } from './problem.ts'
import type { PresetName, PresetUrls } from './settings.ts'

/**
 * Which preset applies: the configured one (null switches presets off), or Google's by itself where Google issued the
 * client id. Undefined: the member cannot be understood, so nobody knows. Source: Custom object, preset rules.
 */
export function choosePreset(oidc: JsonObject): PresetName | null | undefined {
  const custom = isJsonObject(oidc.custom) ? oidc.custom : {}
  if (Object.hasOwn(custom, 'preset')) {
    const { preset } = custom
    return preset === 'google' || preset === 'azure' || preset === null ? preset : undefined
  }
  const clientId = isJsonObject(oidc.client) ? oidc.client.client_id : undefined
  return typeof clientId === 'string' && clientId.endsWith('.apps.googleusercontent.com') ? 'google' : null
}

/** The issuer that a preset stands for. Source: Custom object, preset rule 3, and the vendors' references. */
export function presetIssuer(preset: PresetName, tenantId: string | null, urls: PresetUrls): string {
  if (preset === 'google') return urls.google?.issuer ?? 'https://accounts.google.com'
  const login = urls.azure?.login ?? 'https://login.microsoftonline.com'
  return `${login.replace(/\/+$/, '')}/${tenantId ?? ''}/v2.0`
}

/** The scope by which the groups of an IdP are asked for, where none is configured. */
export function defaultGroupScope(preset: PresetName | null): string {
  if (preset === 'google') return 'https://www.googleapis.com/auth/cloud-identity.groups.readonly'
  return preset === 'azure' ? 'Group.Read.All' : 'groups'
}

/** What a preset needs beside its name, and says of what it does not need. */
export function checkPreset(oidc: JsonObject, preset: PresetName | null): readonly Finding[] {
  if (preset === null) return []
  const custom = isJsonObject(oidc.custom) ? oidc.custom : {}
  return [
    ...ignoredIssuer(oidc.issuer, preset),
    ...(preset === 'azure' ? checkTenant(custom.tenant_id) : []),
    ...(preset === 'google' && oidc.groups !== undefined ? checkCustomer(custom.customer_id) : []),
  ]
}

/** The `oidc` object without the issuer, which a preset brings. Endpoints that were set by hand stay. */
export function withoutIssuer(oidc: JsonObject): JsonObject {
  const { issuer, ...rest } = oidc
  if (!isJsonObject(issuer)) return rest
  const { issuer: _ignored, ...endpoints } = issuer
  return { ...oidc, issuer: endpoints }
}

function ignoredIssuer(issuer: unknown, preset: PresetName): readonly Finding[] {
  const inside = isJsonObject(issuer)
  if (inside ? issuer.issuer === undefined : issuer === undefined) return []
  const remedy = `Remove it: the issuer of the preset "${preset}" is used. To use your own, set custom.preset to null.`
  return [
    {
      warning: 'issuer_ignored',
      at: inside ? ['issuer', 'issuer'] : ['issuer'],
      reason: 'is ignored with a preset',
      remedy,
    },
  ]
}

function checkTenant(tenantId: unknown): readonly Finding[] {
  const at = ['custom', 'tenant_id']
  const remedy = "Write the directory's tenant id; the vendor's portal shows it as Directory (tenant) ID."
  if (tenantId === undefined) return [{ at, reason: 'is missing, and the preset "azure" needs it', remedy }]
  if (typeof tenantId !== 'string' || !OPEN_TENANTS.includes(tenantId.toLowerCase())) return []
  return [{ at, reason: 'must name one directory: with this value any account of the vendor could sign in', remedy }]
}

// The last one is what `consumers` stands for: the directory of all personal accounts.
const OPEN_TENANTS = ['common', 'organizations', 'consumers', '9188040d-6c67-4c5b-b112-36a304b66dad']

function checkCustomer(customerId: unknown): readonly Finding[] {
  if (customerId !== undefined) return []
  return [
    {
      at: ['custom', 'customer_id'],
      reason: 'is missing, and the preset "google" needs it for groups',
      remedy: "Write the customer id of the workspace account; it starts with C, and the vendor's console shows it.",
    },
  ]
}
