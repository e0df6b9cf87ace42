import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'
import { HMAC, SHARED_KEY_ENCRYPTION } from '../rules/supported/algorithm-names.ts'

/** Of the methods, those that need none. */
const WITHOUT: readonly unknown[] = ['none', 'private_key_jwt', 'tls_client_auth', 'self_signed_tls_client_auth']
const SHARED: readonly unknown[] = [...HMAC, ...SHARED_KEY_ENCRYPTION]

/** A secret that is missing although a method or an algorithm of the Client object needs one; the specification's tables ask for it always. */
export function checkSecretNeeded(oidc: JsonObject): readonly Finding[] {
  const { client } = oidc
  if (!isJsonObject(client) || client.client_secret !== undefined) return []
  const method = client.token_endpoint_auth_method ?? 'client_secret_basic'
  const methods = [method, client.introspection_endpoint_auth_method, client.revocation_endpoint_auth_method]
  const shared = Object.values(client).some((value) => SHARED.includes(value))
  if (!shared && methods.every((one) => one === undefined || WITHOUT.includes(one))) return []
  const remedy =
    'Write the client secret that the IdP issued. For a client without one, write how it authenticates in client.token_endpoint_auth_method.'
  return [{ at: ['client', 'client_secret'], reason: 'is missing', remedy }]
}
