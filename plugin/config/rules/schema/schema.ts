import { AUTH_METHODS, RESPONSE_MODES, SERVER_RIGHTS } from '../../settings.ts'
import { ALIASED_ENDPOINTS, ISSUER_ENDPOINTS, ISSUER_FLAGS, ISSUER_LISTS } from '../issuer-members.ts'
import type { PresetRules } from '../preset-rules.ts'
import type { MemberSchema } from './member-schema.ts'

const text = (description: string): MemberSchema => ({ type: 'string', minLength: 1, description })
const flag = (description: string): MemberSchema => ({ type: 'boolean', description })
const address = (description: string): MemberSchema => ({ type: 'string', format: 'uri', description })
const endpoint = (name: string): MemberSchema => address(`Write the complete https address of the IdP's ${name}.`)
const texts = (description: string): MemberSchema => ({
  type: ['string', 'array'],
  minLength: 1,
  items: { type: 'string', minLength: 1 },
  description,
})
/**
 * The schema of an `acr` value. The value must not contain spaces, because spaces separate the values in `acr_values`.
 */
const CONTEXT = { pattern: '^[!-~]{1,255}$' }
const list = (noun: string): MemberSchema => ({
  type: 'string',
  pattern: '[^\\s,]',
  description: `Write the ${noun} in one string, separated by spaces or commas.`,
})
const algorithm = (purpose: string): MemberSchema => text(`Write the name of the algorithm ${purpose}.`)
const authMethod = (endpoint: string): MemberSchema => ({
  type: 'string',
  enum: AUTH_METHODS,
  description: `Write how this server authenticates at the ${endpoint} endpoint, or omit it.`,
})
const table = (description: string, properties: Record<string, MemberSchema>): MemberSchema => ({
  type: 'object',
  description,
  additionalProperties: false,
  properties,
})

const members = <Name extends string>(names: readonly Name[], schema: (name: Name) => MemberSchema) =>
  Object.fromEntries(names.map((name) => [name, schema(name)]))
/** The name of each endpoint in messages to administrators. */
const ENDPOINT_WORDS: Readonly<Record<(typeof ISSUER_ENDPOINTS)[number], string>> = {
  authorization_endpoint: 'authorization endpoint',
  token_endpoint: 'token endpoint',
  jwks_uri: 'key set',
  userinfo_endpoint: 'UserInfo endpoint',
  revocation_endpoint: 'revocation endpoint',
  introspection_endpoint: 'introspection endpoint',
  registration_endpoint: 'registration endpoint',
  end_session_endpoint: 'end-session endpoint',
  pushed_authorization_request_endpoint: 'pushed authorization request endpoint',
}

const ISSUER_OBJECT = table("Write the issuer's https address, or an object with it in `issuer`.", {
  issuer: address("Write the issuer's complete https address, exactly as the IdP states it."),
  ...members(ISSUER_ENDPOINTS, (name) => endpoint(ENDPOINT_WORDS[name])),
  userinfo_endpoint: {
    type: ['string', 'boolean'],
    format: 'uri',
    not: { const: true },
    description: `${endpoint(ENDPOINT_WORDS.userinfo_endpoint).description} Or write false if the ID token contains every claim.`,
  },
  ...members(ISSUER_LISTS, (name) =>
    list(name.includes('_alg_') ? 'algorithms' : name.endsWith('_methods_supported') ? 'methods' : 'values'),
  ),
  ...members(ISSUER_FLAGS, () =>
    flag('Write true or false, whichever is right for the IdP, or omit it to use the value that the IdP publishes.'),
  ),
  mtls_endpoint_aliases: table(
    'Write an object with the endpoints that accept client certificates.',
    members(ALIASED_ENDPOINTS, (name) => endpoint(`${ENDPOINT_WORDS[name]} for client certificates`)),
  ),
})

/** The schema of the issuer, which is an Issuer object or only an address. */
export const ISSUER: MemberSchema = { ...ISSUER_OBJECT, type: ['string', 'object'], format: 'uri' }

const CLIENT: MemberSchema = {
  ...table('Write an object with at least `client_id`, and the `client_secret`, both issued by the IdP.', {
    client_id: text('Write the client id that the IdP issued.'),
    client_secret: text('Write the client secret that the IdP issued.'),
    client_secret_file: text('Write the path of a file that contains only the client secret.'),
    redirect_uri: address('Write the complete callback address, exactly as it is registered at the IdP.'),
    post_logout_redirect_uri: {
      type: ['string', 'boolean'],
      format: 'uri',
      description: 'Write the complete address to return to after logout, or false for none.',
    },
    id_token_signed_response_alg: algorithm('that the IdP signs ID tokens with, such as RS256'),
    id_token_encrypted_response_alg: algorithm('for the keys of encrypted ID tokens'),
    id_token_encrypted_response_enc: algorithm('for the content of encrypted ID tokens'),
    userinfo_signed_response_alg: algorithm('that the IdP signs UserInfo responses with'),
    userinfo_encrypted_response_alg: algorithm('for the keys of encrypted UserInfo responses'),
    userinfo_encrypted_response_enc: algorithm('for the content of encrypted UserInfo responses'),
    response_types: {
      ...texts('Write "code", "id_token" or "code id_token", or an array of these.'),
      minItems: 1,
    },
    response_mode: {
      type: 'string',
      enum: RESPONSE_MODES,
      description: 'Write how the IdP must send its answer, or omit it.',
    },
    authorization_signed_response_alg: algorithm('that the IdP signs its answers with, for a `response_mode` with jwt'),
    authorization_encrypted_response_alg: algorithm('for the keys of encrypted answers'),
    authorization_encrypted_response_enc: algorithm('for the content of encrypted answers'),
    default_max_age: {
      type: 'integer',
      minimum: 0,
      description: 'Write the maximum age of the login at the IdP, in whole seconds.',
    },
    require_auth_time: flag(
      'Write true if ID tokens must say when the user last signed in at the IdP (`auth_time`), otherwise false.',
    ),
    request_object_signing_alg: algorithm('that this server signs request objects with'),
    require_signed_request_object: flag(
      'Write true if the IdP accepts only signed requests from this client, otherwise false.',
    ),
    require_pushed_authorization_requests: flag(
      'Write true if the IdP accepts only pushed requests from this client, otherwise false.',
    ),
    dpop_bound_access_tokens: flag('Write true to bind access tokens to a key of this server, otherwise false.'),
    assertion_audience: {
      type: 'string',
      pattern: '^(issuer|address|https?://.+)$',
      description: 'Write "issuer", "address", or an explicit audience, for client_secret_jwt and private_key_jwt.',
    },
    request_object_encryption_alg: algorithm('for the keys of encrypted request objects'),
    request_object_encryption_enc: algorithm('for the content of encrypted request objects'),
    token_endpoint_auth_method: authMethod('token'),
    introspection_endpoint_auth_method: authMethod('introspection'),
    revocation_endpoint_auth_method: authMethod('revocation'),
    token_endpoint_auth_signing_alg: algorithm('for client_secret_jwt or private_key_jwt'),
    introspection_endpoint_auth_signing_alg: algorithm('for client_secret_jwt or private_key_jwt'),
    revocation_endpoint_auth_signing_alg: algorithm('for client_secret_jwt or private_key_jwt'),
    tls_client_certificate_bound_access_tokens: flag(
      'Write true if the IdP binds access tokens to the client certificate, otherwise false.',
    ),
  }),
  // `client_secret` is not listed, because a separate rule decides whether it is required.
  required: ['client_id'],
}

const ICON = {
  type: 'string',
  pattern: '^[^\\s\\p{Cc}]{1,2000}$',
  description: 'Write the address of an image, or its path on this server.',
} as const

const AUTHORITY = '^(?:groups|roles)$'

const custom = (presets: readonly PresetRules[]) =>
  table('Write an object, or omit it.', {
    scope: {
      type: ['string', 'array'],
      items: { type: 'string' },
      description: 'Write the scopes as an array of strings, or as one string separated by spaces.',
    },
    claims: table('Write an object with the names of the claims for `uuid`, `name` and `email`.', {
      uuid: text('Write the name of the claim that identifies a user.'),
      name: text("Write the name of the claim with a user's name."),
      email: text("Write the name of the claim with a user's e-mail address."),
    }),
    authorization_params: {
      type: 'object',
      additionalProperties: { type: 'string', minLength: 1 },
      description: 'Write an object of strings. They are added to every authorization request.',
    },
    required_acr: {
      ...CONTEXT,
      type: ['string', 'array'],
      minItems: 1,
      items: { type: 'string', ...CONTEXT },
      description: 'Write the required `acr`, or an array of accepted ones, without blanks.',
    },
    previous_issuers: {
      type: ['string', 'array'],
      minLength: 1,
      items: { type: 'string', minLength: 1 },
      description: 'Write the former issuer of the accounts, or an array of such issuers.',
    },
    password_login: {
      type: ['boolean', 'array'],
      items: { type: 'string', minLength: 1 },
      description:
        'Write false for single sign-on only, an array with the names of accounts that may still use a password, or true.',
    },
    preset: {
      enum: [...presets.map(({ name }) => name), null],
      description: `Write ${presets.map(({ name }) => `"${name}"`).join(' or ')}, or null for no preset.`,
    },
    buttonText: {
      type: 'string',
      pattern: '^(?=.*\\S)[^\\p{Cc}\\p{Zl}\\p{Zp}]{1,128}$',
      description: 'Write the text of the login button: at most 128 characters, on one line.',
    },
    buttonIconUrl: ICON,
    buttonIconUrl2x: ICON,
    authorities: {
      type: ['string', 'array'],
      pattern: AUTHORITY,
      minItems: 1,
      items: { type: 'string', pattern: AUTHORITY },
      description: 'Write "groups", "roles", or an array of both.',
    },
    ...Object.assign({}, ...presets.map(({ members }) => members)),
  })

const GROUPS = table('Write an object, or omit it if no groups are used.', {
  recursive: flag('Write true to count memberships through other groups, otherwise false.'),
  required: texts('Write the name of a group, or an array of names.'),
  siteadmin: texts('Write the name of a group, or an array of names.'),
  revokeAdmin: flag(
    'Write true to revoke site admin and rights from users who are in none of the groups that give them, otherwise false.',
  ),
  rights: {
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string', enum: SERVER_RIGHTS } },
    description: `Write an object with an array of rights for each group name: ${SERVER_RIGHTS.join(', ')}. For all rights at once, use groups.siteadmin.`,
  },
  sync: {
    ...table('Write true for all groups, false for none, or an object with the names to mirror in `filter`.', {
      filter: texts('Write the name of a group, or an array of names. To mirror all groups, write "sync": true.'),
    }),
    type: ['boolean', 'object'],
    required: ['filter'],
  },
  scope: {
    type: ['string', 'boolean'],
    not: { const: true },
    description: 'Write the scope that makes the IdP report groups, or false if it needs none.',
  },
  claim: text('Write the name of the claim with the groups.'),
})

/**
 * Returns the schema of the `oidc` object, with canonical names in the specification's order and the presets' members.
 */
export const oidcSchema = (presets: readonly PresetRules[]): MemberSchema => ({
  ...table('Write an object with at least `issuer` and `client`.', {
    issuer: ISSUER,
    client: CLIENT,
    custom: custom(presets),
    groups: GROUPS,
    logouturl: address('Write the complete address that browsers are sent to at logout.'),
    newAccounts: flag('Write true to admit users of the IdP who have no account yet, otherwise false.'),
  }),
  required: ['client'],
})
