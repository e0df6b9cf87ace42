import type { ServerMetadata } from 'openid-client'
import type { ClientSettings, DomainSettings } from '../../config/settings.ts'

/**
 * A configured value that is missing in the list of supported values that the IdP publishes. The value may work
 * nevertheless, because some lists are incomplete.
 */
export interface Unpublished {
  /** The configuration member with the value, such as `client.token_endpoint_auth_method`. */
  readonly member: string
  readonly configured: string
  /** The list in the IdP's metadata that should contain the value, such as `scopes_supported`. */
  readonly list: string
  /** The first values that the IdP publishes in `list`. */
  readonly published: readonly string[]
}

/** Limit of list entries in a log line. */
const MOST_SHOWN = 20

/**
 * Finds configured values that the IdP's published lists lack (OpenID Connect Discovery 1.0, section 3; RFC 8414,
 * section 2).
 */
export function unpublished(metadata: ServerMetadata, settings: DomainSettings): readonly Unpublished[] {
  const { client, custom } = settings
  const signsAnswers = client.response_mode?.includes('jwt') ?? false
  const wanted: readonly Wanted[] = [
    ...SINGLE.flatMap(([member, list]) =>
      client[member] === undefined ? [] : [{ member: `client.${member}`, configured: client[member], list }],
    ),
    ...AUTHENTICATED.filter((endpoint) => metadata[`${endpoint}_endpoint`] !== undefined).flatMap((endpoint) => [
      {
        member: `client.${endpoint}_endpoint_auth_method`,
        configured: client[`${endpoint}_endpoint_auth_method`],
        list: `${endpoint}_endpoint_auth_methods_supported`,
      },
      {
        member: `client.${endpoint}_endpoint_auth_signing_alg`,
        configured: client[`${endpoint}_endpoint_auth_signing_alg`],
        list: `${endpoint}_endpoint_auth_signing_alg_values_supported`,
      },
    ]),
    {
      member: 'client.authorization_signed_response_alg',
      configured: signsAnswers ? client.authorization_signed_response_alg : undefined,
      list: 'authorization_signing_alg_values_supported',
    },
    { member: 'client.response_types', configured: client.response_types[0], list: 'response_types_supported' },
    { member: 'client.response_mode', configured: client.response_mode, list: 'response_modes_supported' },
    ...custom.scope.map((scope) => ({
      member: scope === settings.groups?.scope ? 'groups.scope' : 'custom.scope',
      configured: scope,
      list: 'scopes_supported',
    })),
    // PKCE has no member in the configuration, because it is always used.
    { member: 'PKCE', configured: 'S256', list: 'code_challenge_methods_supported' },
  ]
  return wanted.flatMap((value) => check(value, metadata))
}

interface Wanted {
  readonly member: string
  readonly configured: string | undefined
  readonly list: string
}

/**
 * Members of the Client object with a single value, each with the list in the IdP's metadata that should contain the
 * value.
 */
const SINGLE = [
  ['id_token_signed_response_alg', 'id_token_signing_alg_values_supported'],
  ['id_token_encrypted_response_alg', 'id_token_encryption_alg_values_supported'],
  ['id_token_encrypted_response_enc', 'id_token_encryption_enc_values_supported'],
  ['userinfo_signed_response_alg', 'userinfo_signing_alg_values_supported'],
  ['userinfo_encrypted_response_alg', 'userinfo_encryption_alg_values_supported'],
  ['userinfo_encrypted_response_enc', 'userinfo_encryption_enc_values_supported'],
  ['request_object_signing_alg', 'request_object_signing_alg_values_supported'],
  ['request_object_encryption_alg', 'request_object_encryption_alg_values_supported'],
  ['request_object_encryption_enc', 'request_object_encryption_enc_values_supported'],
  ['authorization_encrypted_response_alg', 'authorization_encryption_alg_values_supported'],
  ['authorization_encrypted_response_enc', 'authorization_encryption_enc_values_supported'],
] as const satisfies readonly (readonly [keyof ClientSettings, string])[]

/** The endpoints where this client authenticates, if the IdP has them. */
const AUTHENTICATED = ['token', 'introspection', 'revocation'] as const

function check({ member, configured, list }: Wanted, metadata: ServerMetadata): readonly Unpublished[] {
  const entries = metadata[list]
  // Compare the exact value first, and sort its words only if that fails. Sorting took most of this function's time
  // when a server with 1,000 domains started.
  if (configured === undefined || !Array.isArray(entries) || entries.includes(configured)) return []
  const published = entries.filter((entry) => typeof entry === 'string')
  if (published.map(sortedWords).includes(sortedWords(configured))) return []
  return [{ member, configured, list, published: published.slice(0, MOST_SHOWN) }]
}

// Sorts the words of a value, because the order of the words in a response type has no meaning. Other values than
// response types are single words.
function sortedWords(value: string): string {
  return value.split(' ').sort().join(' ')
}
