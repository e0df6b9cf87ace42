import { isJsonObject, type JsonObject, membersOf } from '../../config/json/json-object.ts'
import { withoutIssuer } from '../../config/rules/preset-name.ts'
import { scopes } from '../../config/rules/scope.ts'
import type { DomainSettings, GroupSettings } from '../../config/settings.ts'

/**
 * A group name that no IdP sends, because it begins and ends with a space. If it is the only required group, no user is
 * admitted.
 */
const NO_GROUP = ' (no group) '

/** Members of `custom` from which MeshCentral's built-in strategy infers a preset. */
const INFERRING = ['tenant_id', 'customer_id', 'identitysource']

/** Members that the built-in strategy ignores. They are removed, because an administrator would expect an effect. */
const UNREAD = {
  client: [
    'assertion_audience',
    'authorization_encrypted_response_alg',
    'authorization_encrypted_response_enc',
    'authorization_signed_response_alg',
    'client_secret_file',
    'dpop_bound_access_tokens',
    'request_object_encryption_alg',
    'request_object_encryption_enc',
    'request_object_signing_alg',
    'require_pushed_authorization_requests',
    'require_signed_request_object',
    'response_mode',
    'response_types',
  ],
  custom: ['authorities', 'authorization_params', 'password_login', 'previous_issuers', 'required_acr'],
  groups: ['revokeAdmin', 'rights'],
} as const

/**
 * Returns the `oidc` object that makes MeshCentral's built-in strategy as similar to the plugin as possible.
 * Keeps members that neither of them reads.
 *
 * @param oidc the `oidc` object with canonical names and without deprecated keys
 * @see `setupDomainAuthStrategy` and `handleStrategyLogin` of `webserver.js` in MeshCentral 1.1.55
 */
export function builtInOidc(oidc: JsonObject, settings: DomainSettings): JsonObject {
  const isNamed = isJsonObject(oidc.custom) && typeof oidc.custom.preset === 'string'
  const { issuer, client, custom, groups, ...rest } = isNamed ? withoutIssuer(oidc) : oidc
  return {
    ...withMembers('issuer', typeof issuer === 'string' ? issuer : listsAsArrays(membersOf(issuer))),
    client: clientFor(membersOf(client)),
    ...withMembers('custom', customFor(membersOf(custom))),
    ...(isJsonObject(groups) && settings.groups ? { groups: groupsFor(groups, settings.groups) } : {}),
    ...rest,
  }
}

function withMembers(name: string, value: string | JsonObject): JsonObject {
  return typeof value === 'string' || Object.keys(value).length > 0 ? { [name]: value } : {}
}

/**
 * Converts lists that are written as one string to arrays. The plugin accepts both, but the built-in strategy's library
 * needs arrays.
 */
function listsAsArrays(issuer: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(issuer).map(([name, value]) => [
      name,
      name.endsWith('_supported') && typeof value === 'string' ? value.split(/[\s,]+/).filter(Boolean) : value,
    ]),
  )
}

function clientFor(client: JsonObject): JsonObject {
  const { post_logout_redirect_uri: afterLogout, ...rest } = without(client, UNREAD.client)
  // Keep only a string. MeshCentral's built-in strategy would replace false with its own address, and true with none.
  return typeof afterLogout === 'string' ? { ...rest, post_logout_redirect_uri: afterLogout } : rest
}

function customFor(custom: JsonObject): JsonObject {
  const { scope, preset, ...rest } = without(custom, UNREAD.custom)
  return {
    ...(scope === undefined ? {} : { scope: scopes(scope as string | readonly string[]) }),
    ...(typeof preset === 'string' ? { preset } : {}),
    // Remove these members if the preset is null. Null disables presets in the plugin, but the built-in strategy would
    // infer a preset from these members.
    ...(preset === null ? without(rest, INFERRING) : rest),
  }
}

function groupsFor(groups: JsonObject, { required, siteadmin, sync, scope }: GroupSettings): JsonObject {
  const { scope: written, ...rest } = without(groups, UNREAD.groups)
  return {
    ...rest,
    // Replace an empty list with a group that no IdP sends. The built-in strategy would ignore the empty list and admit
    // every user.
    ...(required === null ? {} : { required: required.length > 0 ? required : [NO_GROUP] }),
    // Always write an array, because the built-in strategy reads a string as a list of its letters.
    ...(siteadmin === null ? {} : { siteadmin }),
    // Replace an empty filter with false. The built-in strategy would mirror all groups.
    ...(groups.sync === undefined ? {} : { sync: typeof sync === 'object' ? filterOf(sync) : sync === 'all' }),
    // The built-in strategy requests `groups` unless a scope is configured. It always requests `openid`.
    ...(scope === null ? { scope: 'openid' } : written === undefined ? {} : { scope }),
  }
}

const filterOf = (names: readonly string[]) => (names.length > 0 ? { filter: names } : false)

function without(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))
}
