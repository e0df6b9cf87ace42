import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'
import {
  HMAC,
  KEY_PAIR_ENCRYPTION,
  KEY_PAIR_SIGNATURES,
  SHARED_KEY_ENCRYPTION,
} from '../rules/supported/algorithm-names.ts'
import type { ClientKey, Credentials } from '../settings.ts'

const ENDPOINTS = ['token', 'introspection', 'revocation'].map((name) => `${name}_endpoint`)
const ENCRYPTED = [
  'id_token_encrypted_response_alg',
  'userinfo_encrypted_response_alg',
  'authorization_encrypted_response_alg',
]
const ADD_KEY = 'Add one to the JWK Set file that you name as `jwksFile`'
const BY_CERTIFICATE: readonly unknown[] = ['tls_client_auth', 'self_signed_tls_client_auth']
const WHERE = '`domains.<key>.oidcCredentials`, or in the option `credentials` of `registerOidc`'

/**
 * Reports missing keys and certificates, without which requests would be unsigned, or tokens not encrypted. Another
 * rule reports unknown algorithms.
 */
export function checkKeysNeeded(oidc: JsonObject, { keys, certificate }: Credentials): readonly Finding[] {
  const client = isJsonObject(oidc.client) ? oidc.client : {}
  const methods = ENDPOINTS.map((name) => `${name}_auth_method`).filter((name) => client[name] === 'private_key_jwt')
  return [
    ...methods.flatMap((name) => signature(name, client[name.replace(/_method$/, '_signing_alg')], keys)),
    ...(client.request_object_signing_alg === undefined
      ? []
      : signature('request_object_signing_alg', client.request_object_signing_alg, keys)),
    ...ENCRYPTED.flatMap((name) => encryption(name, client[name], keys)),
    ...ENDPOINTS.map((name) => `${name}_auth_method`).flatMap((name) =>
      BY_CERTIFICATE.includes(client[name]) && !certificate ? [needCertificate(name)] : [],
    ),
    ...(client.require_signed_request_object === true && client.request_object_signing_alg === undefined
      ? signature('require_signed_request_object', undefined, keys)
      : []),
    ...(client.tls_client_certificate_bound_access_tokens === true && !certificate
      ? [needCertificate('tls_client_certificate_bound_access_tokens')]
      : []),
  ]
}

/**
 * Reports a finding if none of the client's keys can sign with the given algorithm.
 *
 * @param algorithm undefined if any algorithm suffices
 */
function signature(name: string, algorithm: unknown, keys: readonly ClientKey[]): readonly Finding[] {
  const required =
    algorithm === undefined ? KEY_PAIR_SIGNATURES : KEY_PAIR_SIGNATURES.filter((name) => name === algorithm)
  const fits = ({ signs }: ClientKey) => signs.some((name) => required.includes(name))
  if (required.length === 0 || keys.some(fits)) return []
  return [need(name, 'a suitable private key for signatures', ADD_KEY)]
}

function encryption(name: string, algorithm: unknown, keys: readonly ClientKey[]): readonly Finding[] {
  const required = KEY_PAIR_ENCRYPTION.find((name) => name === algorithm)
  if (required === undefined || keys.some(({ decrypts }) => decrypts.includes(required))) return []
  return [need(name, 'a suitable private key for decryption', ADD_KEY)]
}

function needCertificate(name: string): Finding {
  return need(
    name,
    'a client certificate',
    'Name the files of the certificate and of its key as `tlsCertFile` and `tlsKeyFile`',
  )
}

function need(name: string, noun: string, advice: string): Finding {
  return { steps: ['client', name], reason: `needs ${noun}, but there is none`, remedy: `${advice} in ${WHERE}.` }
}

/** Authentication methods that need no client secret. */
const SECRETLESS_METHODS: readonly unknown[] = [
  'none',
  'private_key_jwt',
  'tls_client_auth',
  'self_signed_tls_client_auth',
]
const SHARED: readonly unknown[] = [...HMAC, ...SHARED_KEY_ENCRYPTION]

/**
 * Reports a missing client secret if a method or an algorithm needs one. The specification's tables always require it.
 */
export function checkSecretNeeded(oidc: JsonObject): readonly Finding[] {
  const { client } = oidc
  if (!isJsonObject(client)) return []
  if (client.client_secret !== undefined || client.client_secret_file !== undefined) return []
  const method = client.token_endpoint_auth_method ?? 'client_secret_basic'
  const methods = [method, client.introspection_endpoint_auth_method, client.revocation_endpoint_auth_method]
  const shared = Object.values(client).some((value) => SHARED.includes(value))
  if (!shared && methods.every((name) => name === undefined || SECRETLESS_METHODS.includes(name))) return []
  const remedy =
    'Write the client secret that the IdP issued, or name a file that contains it as client_secret_file. For a client without a secret, write its authentication method in client.token_endpoint_auth_method.'
  return [{ steps: ['client', 'client_secret'], reason: 'is missing', remedy }]
}
