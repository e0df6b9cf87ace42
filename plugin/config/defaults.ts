import type { DomainAddress } from './domains/domain-address.ts'
import { isJsonObject } from './json/json-object.ts'
import type { ClientConfig, CustomConfig, GroupsConfig, IssuerConfig, OidcConfig } from './oidc-config.ts'
import { type PresetRules, type UrlOverrides, vendorUrls } from './rules/preset-rules.ts'
import { scopes } from './rules/scope.ts'
import { responseTypes } from './rules/supported/response-types.ts'
import type {
  ClientSettings,
  Credentials,
  CustomSettings,
  DomainSettings,
  GroupSettings,
  IssuerSettings,
  ManualMetadata,
} from './settings.ts'

/** The settings that all domains with the same `oidc` object share. Default redirect addresses differ by domain. */
export interface SharedSettings
  extends Pick<DomainSettings, 'issuer' | 'custom' | 'groups' | 'logoutUrl' | 'newAccounts'> {
  readonly client: ClientConfig
}

/** Fills the defaults into a checked `oidc` object. Source: the specification's tables, column Default. */
export function sharedSettings(oidc: OidcConfig, preset: PresetRules | null, presetUrls: UrlOverrides): SharedSettings {
  const groups = oidc.groups ? groupSettings(oidc.groups, preset) : null
  const custom = customSettings(oidc.custom ?? {}, preset, groups)
  return {
    issuer: issuerSettings(oidc, preset, custom, presetUrls),
    client: oidc.client,
    custom,
    groups,
    logoutUrl: oidc.logouturl ?? null,
    newAccounts: oidc.newAccounts ?? null,
  }
}

/** Combines the shared settings with the address and the credentials of one domain. */
export function domainSettings(
  key: string,
  { issuer, client, custom, groups, logoutUrl, newAccounts }: SharedSettings,
  { hostName, origin, basePath }: DomainAddress,
  credentials: Credentials,
): DomainSettings {
  return {
    key,
    hostName,
    origin,
    issuer,
    client: clientSettings(client, origin + basePath),
    credentials,
    custom,
    groups,
    logoutUrl,
    newAccounts,
  }
}

function issuerSettings(
  { issuer }: OidcConfig,
  preset: PresetRules | null,
  { presetMembers }: CustomSettings,
  urls: UrlOverrides,
): IssuerSettings {
  const { issuer: uri = '', ...manual } = typeof issuer === 'string' ? { issuer } : (issuer ?? {})
  return {
    // If a preset applies, a configured issuer is present here only if it must replace the preset's issuer. Otherwise
    // `withoutIssuer` has removed it.
    issuer: uri === '' && preset ? preset.issuer(vendorUrls(preset, urls), presetMembers) : uri,
    manual: manualMetadata(manual),
  }
}

function manualMetadata(manual: Omit<IssuerConfig, 'issuer'>): ManualMetadata {
  return Object.fromEntries(
    Object.entries(manual).map(([name, value]) => [
      name,
      name.endsWith('_supported') && typeof value === 'string' ? listOf(value) : value,
    ]),
  )
}

function clientSettings(client: ClientConfig, baseUrl: string): ClientSettings {
  const { post_logout_redirect_uri: afterLogout = true, response_types, ...configured } = client
  // All endpoints use the authentication method of the token endpoint by default, because nearly every IdP stores one
  // method for each client.
  const method = client.token_endpoint_auth_method ?? 'client_secret_basic'
  return {
    redirect_uri: `${baseUrl}auth-oidc-callback`,
    id_token_signed_response_alg: 'RS256',
    require_auth_time: false,
    authorization_signed_response_alg: 'RS256',
    require_signed_request_object: false,
    require_pushed_authorization_requests: false,
    token_endpoint_auth_method: method,
    introspection_endpoint_auth_method: method,
    revocation_endpoint_auth_method: method,
    tls_client_certificate_bound_access_tokens: false,
    dpop_bound_access_tokens: false,
    client_secret: null,
    ...configured,
    post_logout_redirect_uri: typeof afterLogout === 'string' ? afterLogout : afterLogout ? `${baseUrl}login` : null,
    response_types: responseTypes(response_types),
  }
}

function customSettings(
  custom: CustomConfig,
  preset: PresetRules | null,
  groups: GroupSettings | null,
): CustomSettings {
  // Add the group scope only if there is no preset. A preset adds the scope itself if it needs one.
  const groupScopes = groups?.scope && preset === null ? [groups.scope] : []
  return {
    scope: scopes(custom.scope ?? 'openid profile email', groupScopes),
    claims: { uuid: 'sub', name: 'name', email: 'email', ...custom.claims },
    authorizationParams: custom.authorization_params ?? {},
    requiredAcr: custom.required_acr === undefined ? [] : names(custom.required_acr),
    previousIssuers: custom.previous_issuers === undefined ? [] : names(custom.previous_issuers),
    ...(custom.buttonText === undefined ? {} : { buttonText: custom.buttonText }),
    ...(custom.buttonIconUrl === undefined ? {} : { buttonIconUrl: custom.buttonIconUrl }),
    ...(custom.buttonIconUrl2x === undefined ? {} : { buttonIconUrl2x: custom.buttonIconUrl2x }),
    authorities: custom.authorities === undefined ? ['groups'] : names(custom.authorities),
    preset: preset?.name ?? null,
    presetMembers: preset ? textsOf(custom, Object.keys(preset.members)) : {},
  }
}

function textsOf(members: unknown, names: readonly string[]): Readonly<Record<string, string>> {
  const entries = isJsonObject(members) ? Object.entries(members) : []
  return Object.fromEntries(
    entries.flatMap(([name, value]) => (names.includes(name) && typeof value === 'string' ? [[name, value]] : [])),
  )
}

function groupSettings(groups: GroupsConfig, preset: PresetRules | null): GroupSettings {
  const { sync = false } = groups
  return {
    recursive: groups.recursive ?? false,
    required: groups.required === undefined ? null : names(groups.required),
    siteadmin: groups.siteadmin === undefined ? null : names(groups.siteadmin),
    // The specification contradicts itself about the default. With false, a user who left the admin group would remain
    // an administrator unnoticed.
    revokeAdmin: groups.revokeAdmin ?? true,
    rights: groups.rights ? Object.entries(groups.rights).map(([group, rights]) => ({ group, rights })) : null,
    sync: typeof sync === 'object' ? names(sync.filter) : sync && 'all',
    scope: (groups.scope ?? preset?.groupScope ?? 'groups') || null,
    claim: groups.claim ?? null,
  }
}

function names(value: string | readonly string[]): readonly string[] {
  return [...new Set([value].flat())]
}

/** Splits a `…_supported` member at spaces and commas, and removes duplicates. */
function listOf(text: string): readonly string[] {
  return [...new Set(text.split(/[\s,]+/).filter((word) => word !== ''))]
}
