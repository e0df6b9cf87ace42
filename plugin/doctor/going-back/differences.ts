import { type JsonObject, membersOf } from '../../config/json/json-object.ts'
import type { PresetRules } from '../../config/rules/preset-rules.ts'
import type { DomainSettings } from '../../config/settings.ts'
import { PRESETS } from '../../presets/presets.ts'

/** A difference between MeshCentral's built-in strategy and the plugin. */
export interface Difference {
  /** The path of a member, relative to the `oidc` object or the domain. */
  readonly path: string
  /** How the built-in strategy treats the member differently. The text continues a sentence that begins with `path`. */
  readonly text: string
}

/** Differences between MeshCentral's built-in strategy and the plugin that do not depend on the configuration. */
export const ALWAYS_DIFFERENT = [
  'A sign-out at the IdP, or a disabled account there, ends no session here.',
  'While the IdP cannot be reached, MeshCentral does not start.',
  "The user sees the IdP's own error text, and the authentication log contains nothing about it.",
  'Claims count only if the UserInfo endpoint has them; those of the ID token do not.',
  'A user who leaves the last mirrored group at the IdP stays in that group here.',
  'Site admin, rights and user groups that the plugin gave stay in the accounts at first. The built-in strategy revokes site admin only if `groups.siteadmin` is configured, user groups only if `groups.sync` is, and rights never.',
] as const

/**
 * The methods of client authentication that need keys or certificates from files, which the built-in strategy cannot
 * read.
 */
const BY_KEYS = ['private_key_jwt', 'tls_client_auth', 'self_signed_tls_client_auth']

type Rule = (oidc: Parts, settings: DomainSettings) => string | undefined

interface Parts {
  readonly client: JsonObject
  readonly custom: JsonObject
  readonly groups: JsonObject
  readonly oidc: JsonObject
}

/** Lists what MeshCentral's built-in strategy would do differently with one domain's `oidc` object. */
export function differencesOf(oidc: JsonObject, settings: DomainSettings): readonly Difference[] {
  const parts: Parts = {
    client: membersOf(oidc.client),
    custom: membersOf(oidc.custom),
    groups: membersOf(oidc.groups),
    oidc,
  }
  return Object.entries(RULES).flatMap(([path, rule]) => {
    const text = rule(parts, settings)
    return text === undefined ? [] : [{ path, text }]
  })
}

const when = (isSo: boolean, text: string) => (isSo ? text : undefined)
/** Returns the preset that the built-in strategy applies to the printed configuration, if any. */
const builtInPreset = ({ client, custom }: DomainSettings): PresetRules | undefined =>
  PRESETS.find(({ name }) => name === custom.preset) ?? PRESETS.find(({ issued }) => issued(client.client_id))
const isGiven = (value: unknown) => value !== undefined && value !== false && value !== null

const RULES: Readonly<Record<string, Rule>> = {
  'client.client_secret_file': ({ client }) =>
    when(isGiven(client.client_secret_file), 'is not read: write the secret itself as client_secret.'),
  'client.token_endpoint_auth_method': (_, { client }) =>
    when(
      BY_KEYS.includes(client.token_endpoint_auth_method),
      'fails: the built-in strategy reads no keys and no certificate. Register a client secret.',
    ),
  'client.response_types': (_, { client }) =>
    when(
      client.response_types[0] !== 'code',
      'is not read: logins use the authorization code flow. Allow that flow for the client at the IdP.',
    ),
  'client.response_mode': ({ client }) =>
    when(isGiven(client.response_mode), 'is not read: the answer comes in the query.'),
  'client.request_object_signing_alg': ({ client }) =>
    when(
      isGiven(client.request_object_signing_alg) || isGiven(client.require_signed_request_object),
      'is not read: requests are not signed.',
    ),
  'client.require_pushed_authorization_requests': (_, { client }) =>
    when(client.require_pushed_authorization_requests, 'is not read: requests are not pushed.'),
  'client.dpop_bound_access_tokens': (_, { client }) =>
    when(client.dpop_bound_access_tokens, 'is not read: access tokens are not bound to a key.'),
  'client.id_token_encrypted_response_alg': (_, { client }) =>
    when(
      isGiven(client.id_token_encrypted_response_alg),
      'makes logins fail: the built-in strategy has no key to decrypt ID tokens. Turn off their encryption at the IdP, and remove this member.',
    ),
  'client.post_logout_redirect_uri': ({ client }) =>
    when(
      client.post_logout_redirect_uri === false,
      'cannot be false: the built-in strategy sends the address of the login page.',
    ),
  'custom.preset': ({ client, custom }) =>
    when(
      custom.preset === null && PRESETS.some(({ issued }) => issued(String(client.client_id))),
      'cannot be null: the built-in strategy infers the preset from this client id.',
    ),
  'custom.scope': ({ custom }, settings) =>
    when(
      custom.scope !== undefined &&
        [settings.custom.scope].flat().filter((scope) => scope !== settings.groups?.scope).length < 2,
      'is not read, because it has fewer than two scopes: openid, profile and email are requested.',
    ),
  'custom.claims.uuid': (_, { custom }) =>
    when(
      custom.claims.uuid !== 'sub',
      'is only read from UserInfo. If UserInfo lacks the claim, the user gets the account whose id is the claim sub.',
    ),
  'custom.authorization_params': ({ custom }) => when(isGiven(custom.authorization_params), 'is not sent.'),
  'custom.required_acr': ({ custom }) =>
    when(
      isGiven(custom.required_acr),
      'is not checked: a login without the second factor is admitted. Require it at the IdP.',
    ),
  'custom.previous_issuers': ({ custom }) =>
    when(isGiven(custom.previous_issuers), 'is not read: an account is not bound to an issuer.'),
  'custom.password_login': ({ custom }) =>
    when(
      custom.password_login !== undefined && custom.password_login !== true,
      'is not read: every account that has a password can sign in with it again.',
    ),
  'custom.authorities': ({ custom }) => when(isGiven(custom.authorities), 'is not read: groups alone count.'),
  'groups.required': (_, { groups }) =>
    when(
      groups?.required?.length === 0,
      'is an empty list, which would admit every user. The printed configuration requires a group that does not exist, so it admits nobody.',
    ),
  'groups.revokeAdmin': (_, { groups }) =>
    when(
      groups?.siteadmin != null && groups.revokeAdmin === false,
      'has no effect: site admins in none of the groups lose their rights at their next login.',
    ),
  'groups.rights': ({ groups }) =>
    when(isGiven(groups.rights), 'is not read: groups give no rights, and users keep those that they have.'),
  'groups.scope': (_, settings) =>
    when(
      settings.groups?.scope === null,
      `cannot be empty, or the built-in strategy requests "${builtInPreset(settings)?.groupScope ?? 'groups'}". The printed configuration names "openid", which every login requests anyway.`,
    ),
  'groups.claim': (_, settings) => {
    const { custom, groups } = settings
    const preset = builtInPreset(settings)
    if (groups?.claim == null) return undefined
    if (preset) {
      // The plugin ignores the claim too.
      if (preset.name === custom.preset && preset.ignoresClaim) return undefined
      return `is not read: with the preset "${preset.name}", the built-in strategy reads groups from the vendor's API, and knows them by display name only. Allow the client the scope "${preset.groupScope}", and write display names into the group rules.`
    }
    return when(
      groups.claim.includes('.'),
      'as a path into objects is not understood: users have no groups. Let the IdP write a flat claim into UserInfo.',
    )
  },
  newAccounts: ({ oidc }) =>
    when(
      oidc.newAccounts === false,
      'has no effect if domains.<key>.newAccounts is true: users without an account then get one.',
    ),
}
