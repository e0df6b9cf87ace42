import { isJsonObject, type JsonObject } from './json-object.ts'
import { quoted } from './json-path.ts'
import { nearestName } from './nearest-name.ts'
import type { Finding } from './problem.ts'

const HMAC = ['HS256', 'HS384', 'HS512']
// Sources: RFC 7518, sections 3.1, 4.1 and 5.1; RFC 8037; RFC 8812; RFC 9864.
const RSA = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
const SIGNING = [...HMAC, ...RSA, 'ES256', 'ES384', 'ES512', 'ES256K', 'EdDSA', 'Ed25519', 'Ed448']
const ENCRYPTED_KEY = ['RSA1_5', 'RSA-OAEP', 'RSA-OAEP-256', 'RSA-OAEP-384', 'RSA-OAEP-512']
const SHARED_KEY = ['A128KW', 'A192KW', 'A256KW', 'A128GCMKW', 'A192GCMKW', 'A256GCMKW', 'dir']
const AGREED_KEY = ['ECDH-ES', 'ECDH-ES+A128KW', 'ECDH-ES+A192KW', 'ECDH-ES+A256KW']
const PASSWORD_KEY = ['PBES2-HS256+A128KW', 'PBES2-HS384+A192KW', 'PBES2-HS512+A256KW']
const KEYS = [...ENCRYPTED_KEY, ...SHARED_KEY, ...AGREED_KEY, ...PASSWORD_KEY]
const CONTENT = ['A128CBC-HS256', 'A192CBC-HS384', 'A256CBC-HS512', 'A128GCM', 'A192GCM', 'A256GCM']

const SIGNED = ['id_token', 'userinfo'].map((what) => `${what}_signed_response_alg`)
const ENDPOINTS = ['token', 'introspection', 'revocation'].map((where) => `${where}_endpoint`)
const ENCRYPTED = ['id_token_encrypted_response', 'userinfo_encrypted_response', 'request_object_encryption']

/** Algorithms in the Client object that cannot work, and those that nobody knows. */
export function checkAlgorithms(oidc: JsonObject): readonly Finding[] {
  const client = isJsonObject(oidc.client) ? oidc.client : {}
  return [
    ...SIGNED.flatMap((name) => [...unsigned(client, name), ...unknown(client, name, SIGNING)]),
    ...unknown(client, 'request_object_signing_alg', [...SIGNING, 'none']),
    ...ENDPOINTS.flatMap((name) => authentication(client, name)),
    ...ENCRYPTED.flatMap((name) => encryption(client, name)),
  ]
}

// Anyone can make an unsigned token.
function unsigned(client: JsonObject, name: string): readonly Finding[] {
  if (client[name] !== 'none') return []
  const remedy = 'Write the algorithm that the IdP signs with, or leave it out.'
  return [{ at: ['client', name], reason: 'must be a signature algorithm', remedy }]
}

function authentication(client: JsonObject, endpoint: string): readonly Finding[] {
  const name = `${endpoint}_auth_signing_alg`
  const algorithm = client[name]
  const method = client[`${endpoint}_auth_method`]
  const withSecret = typeof algorithm === 'string' && HMAC.includes(algorithm)
  const at = ['client', name]
  if (algorithm === 'none') return unsigned(client, name)
  if (typeof algorithm !== 'string' || !SIGNING.includes(algorithm)) return unknown(client, name, SIGNING)
  if (method === 'client_secret_jwt' && !withSecret) {
    return [{ at, reason: 'does not go with client_secret_jwt', remedy: `Use one of ${HMAC.join(', ')}.` }]
  }
  if (method === 'private_key_jwt' && withSecret) {
    return [{ at, reason: 'does not go with private_key_jwt', remedy: 'Use an algorithm of key pairs, such as RS256.' }]
  }
  return []
}

// OpenID Connect Dynamic Client Registration 1.0, section 2: an `…_enc` demands its `…_alg`.
function encryption(client: JsonObject, what: string): readonly Finding[] {
  const alg = `${what}_alg`
  const enc = `${what}_enc`
  const missing = client[enc] !== undefined && client[alg] === undefined
  const remedy = `Write the algorithm for the keys, or remove ${enc}.`
  return [
    ...(missing ? [{ at: ['client', alg], reason: `is missing beside ${enc}`, remedy }] : []),
    ...unknown(client, alg, KEYS),
    ...unknown(client, enc, CONTENT),
  ]
}

function unknown(client: JsonObject, name: string, known: readonly string[]): readonly Finding[] {
  const value = client[name]
  if (typeof value !== 'string' || value === '' || value === 'none' || known.includes(value)) return []
  const near = nearestName(value, known)
  const remedy = near === undefined ? `Known here: ${known.join(', ')}.` : `Did you mean ${quoted(near)}?`
  return [{ warning: 'unknown_algorithm', at: ['client', name], reason: 'is not a known algorithm', remedy }]
}
