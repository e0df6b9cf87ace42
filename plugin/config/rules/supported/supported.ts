import { isJsonObject, type JsonObject } from '../../json/json-object.ts'
import { jsonPath } from '../../json/json-path.ts'
import type { Finding } from '../../problem.ts'

/** Member of the Client object → that of the Issuer object which says what the IdP takes there. */
const CHOICES: readonly (readonly [member: string, supported: string])[] = [
  ...(['token', 'introspection', 'revocation'] as const).flatMap((where) => [
    [`${where}_endpoint_auth_method`, `${where}_endpoint_auth_methods_supported`] as const,
    [`${where}_endpoint_auth_signing_alg`, `${where}_endpoint_auth_signing_alg_values_supported`] as const,
  ]),
  ...(['id_token', 'userinfo', 'authorization'] as const).flatMap((what) => [
    [`${what}_signed_response_alg`, `${what}_signing_alg_values_supported`] as const,
    [`${what}_encrypted_response_alg`, `${what}_encryption_alg_values_supported`] as const,
    [`${what}_encrypted_response_enc`, `${what}_encryption_enc_values_supported`] as const,
  ]),
  ...(['signing_alg', 'encryption_alg', 'encryption_enc'] as const).map(
    (what) => [`request_object_${what}`, `request_object_${what}_values_supported`] as const,
  ),
  ['response_mode', 'response_modes_supported'],
]

/** What counts where nothing is given, beside the methods: those follow one another. */
const DEFAULTS: Readonly<Record<string, string>> = { id_token_signed_response_alg: 'RS256' }

/** Where client and issuer object contradict each other: warnings, since only the IdP knows which of them is right. */
export function checkSupported(oidc: JsonObject): readonly Finding[] {
  const client = isJsonObject(oidc.client) ? oidc.client : {}
  const issuer = isJsonObject(oidc.issuer) ? oidc.issuer : {}
  const method = client.token_endpoint_auth_method ?? 'client_secret_basic'
  return CHOICES.flatMap(([member, supported]): Finding[] => {
    const fallback = member.endsWith('_auth_method') ? method : DEFAULTS[member]
    const [chosen = fallback, list] = [client[member], issuer[supported]]
    if (typeof chosen !== 'string' || typeof list !== 'string' || listed(list).includes(chosen)) return []
    return [
      {
        warning: 'not_supported',
        at: ['client', member],
        reason: `${client[member] === undefined ? `is ${fallback} by default, which` : 'is a value that'} is not in ${jsonPath(['issuer', supported])}`,
        remedy: 'Write a value that the IdP supports, or correct what it is said to support.',
      },
    ]
  })
}

/** The values in a `…_supported` member: one, or several separated by spaces or commas; none twice. */
export function listed(text: string): readonly string[] {
  return [...new Set(text.split(/[\s,]+/).filter((word) => word !== ''))]
}
