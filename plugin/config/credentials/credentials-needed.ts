import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'
import {
  HMAC,
  KEY_PAIR_ENCRYPTION,
  KEY_PAIR_SIGNATURES,
  SHARED_KEY_ENCRYPTION,
} from '../rules/supported/algorithm-names.ts'
import type { ClientKey, Credentials } from '../settings.ts'

const ENDPOINTS = ['token', 'introspection', 'revocation'].map((where) => `${where}_endpoint`)
const ENCRYPTED = [
  'id_token_encrypted_response_alg',
  'userinfo_encrypted_response_alg',
  'authorization_encrypted_response_alg',
]
const BY_CERTIFICATE: readonly unknown[] = ['tls_client_auth', 'self_signed_tls_client_auth']
const WHERE = '`credentials` of the registration, or in `domains.<key>.oidcCredentials`'

/**
 * What the Client object asks for and the credentials do not give. Sending an unsigned request, or taking a token that
 * anybody can read, where more was asked for would be worse than no login. Algorithms that are none are another rule's
 * business.
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

/** @param algorithm undefined: any will do */
function signature(name: string, algorithm: unknown, keys: readonly ClientKey[]): readonly Finding[] {
  const wanted = algorithm === undefined ? KEY_PAIR_SIGNATURES : KEY_PAIR_SIGNATURES.filter((one) => one === algorithm)
  const fits = ({ signs }: ClientKey) => signs.some((one) => wanted.includes(one))
  if (wanted.length === 0 || keys.some(fits)) return []
  return [need(name, 'a private key for signatures that fits it', 'jwksFile')]
}

function encryption(name: string, algorithm: unknown, keys: readonly ClientKey[]): readonly Finding[] {
  const wanted = KEY_PAIR_ENCRYPTION.find((one) => one === algorithm)
  if (wanted === undefined || keys.some(({ decrypts }) => decrypts.includes(wanted))) return []
  return [need(name, 'a private key for encryption that fits it', 'jwksFile')]
}

function needCertificate(name: string): Finding {
  return need(name, 'a client certificate', 'tlsCertFile and tlsKeyFile')
}

function need(name: string, what: string, member: string): Finding {
  const remedy = `Name a file with one as ${member} in ${WHERE}.`
  return { at: ['client', name], reason: `needs ${what}, and there is none`, remedy }
}

/** Of the methods, those that need none. */
const WITHOUT: readonly unknown[] = ['none', 'private_key_jwt', 'tls_client_auth', 'self_signed_tls_client_auth']
const SHARED: readonly unknown[] = [...HMAC, ...SHARED_KEY_ENCRYPTION]

/**
 * A secret that is missing although a method or an algorithm of the Client object needs one; the specification's tables
 * ask for it always.
 */
export function checkSecretNeeded(oidc: JsonObject): readonly Finding[] {
  const { client } = oidc
  if (!isJsonObject(client)) return []
  if (client.client_secret !== undefined || client.client_secret_file !== undefined) return []
  const method = client.token_endpoint_auth_method ?? 'client_secret_basic'
  const methods = [method, client.introspection_endpoint_auth_method, client.revocation_endpoint_auth_method]
  const shared = Object.values(client).some((value) => SHARED.includes(value))
  if (!shared && methods.every((one) => one === undefined || WITHOUT.includes(one))) return []
  const remedy =
    'Write the client secret that the IdP issued, or name a file that holds it as client_secret_file. For a client without one, write how it authenticates in client.token_endpoint_auth_method.'
  return [{ at: ['client', 'client_secret'], reason: 'is missing', remedy }]
}
