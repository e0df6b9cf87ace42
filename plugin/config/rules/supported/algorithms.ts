import { isJsonObject, type JsonObject } from '../../json/json-object.ts'
import { quoted } from '../../json/json-path.ts'
import { nearestName } from '../../json/nearest-name.ts'
import type { Finding } from '../../problem.ts'
import {
  CONTENT_ENCRYPTION,
  HMAC,
  KEY_PAIR_ENCRYPTION,
  KEY_PAIR_SIGNATURES,
  SHARED_KEY_ENCRYPTION,
} from './algorithm-names.ts'
import { firstResponseType } from './response-types.ts'

const BY_SECRET: readonly unknown[] = HMAC
const SIGNATURES = [...KEY_PAIR_SIGNATURES, ...HMAC]
const ENCRYPTION = [...KEY_PAIR_ENCRYPTION, ...SHARED_KEY_ENCRYPTION]

const SIGNED = ['id_token_signed_response_alg', 'userinfo_signed_response_alg', 'request_object_signing_alg']
const SIGNED_BY_KEY_PAIR = 'authorization_signed_response_alg'
const ENDPOINTS = ['token', 'introspection', 'revocation'].map((name) => `${name}_endpoint`)
const ENCRYPTED = [
  'id_token_encrypted_response',
  'userinfo_encrypted_response',
  'authorization_encrypted_response',
  'request_object_encryption',
]

/**
 * Reports algorithms in the Client object that cannot work, either on their own or in combination with other members.
 */
export function checkAlgorithms(oidc: JsonObject): readonly Finding[] {
  const client = isJsonObject(oidc.client) ? oidc.client : {}
  return [
    ...SIGNED.flatMap((name) => [...unsigned(client, name), ...unsupported(client, name, SIGNATURES)]),
    ...unsigned(client, SIGNED_BY_KEY_PAIR),
    ...unsupported(client, SIGNED_BY_KEY_PAIR, [...KEY_PAIR_SIGNATURES, 'none']),
    ...sharedKeyInFront(oidc, client),
    ...ENDPOINTS.flatMap((name) => authentication(client, name)),
    ...ENCRYPTED.flatMap((name) => encryption(client, name)),
    ...unsignedRequest(client),
  ]
}

// Refuses the algorithm `none`, because anyone can create an unsigned token or request.
function unsigned(client: JsonObject, name: string): readonly Finding[] {
  if (client[name] !== 'none') return []
  const remedy = 'Write the algorithm of the signatures, or omit it.'
  return [{ steps: ['client', name], reason: 'must be a signature algorithm', remedy }]
}

// Refuses HS algorithms if the ID token arrives through the browser. The library cannot verify such a token with the
// client secret.
function sharedKeyInFront(oidc: JsonObject, client: JsonObject): readonly Finding[] {
  const name = 'id_token_signed_response_alg'
  if (!BY_SECRET.includes(client[name]) || firstResponseType(oidc) === 'code') return []
  const remedy = 'Use an algorithm of key pairs, such as RS256, or the response type "code".'
  return [{ steps: ['client', name], reason: 'is only possible with the response type "code"', remedy }]
}

function authentication(client: JsonObject, endpoint: string): readonly Finding[] {
  const name = `${endpoint}_auth_signing_alg`
  const algorithm = client[name]
  const method = client[`${endpoint}_auth_method`]
  const steps = ['client', name]
  if (algorithm === 'none') return unsigned(client, name)
  if (typeof algorithm !== 'string' || !SIGNATURES.includes(algorithm)) {
    const signs = method === 'client_secret_jwt' || method === 'private_key_jwt'
    const findings = unsupported(client, name, SIGNATURES)
    return signs ? findings : findings.map((finding) => ({ ...finding, warning: 'unknown_algorithm' as const }))
  }
  if (method === 'client_secret_jwt' && !HMAC.includes(algorithm)) {
    return [{ steps, reason: 'cannot be used with client_secret_jwt', remedy: `Use one of ${HMAC.join(', ')}.` }]
  }
  if (method === 'private_key_jwt' && HMAC.includes(algorithm)) {
    return [
      { steps, reason: 'cannot be used with private_key_jwt', remedy: 'Use an algorithm of key pairs, such as RS256.' },
    ]
  }
  return []
}

// Checks one kind of encryption: `…_enc` requires `…_alg`. Source: OpenID Connect Dynamic Client Registration 1.0,
// section 2.
function encryption(client: JsonObject, prefix: string): readonly Finding[] {
  const alg = `${prefix}_alg`
  const enc = `${prefix}_enc`
  const missing = client[enc] !== undefined && client[alg] === undefined
  const remedy = `Write the algorithm for the keys, or remove ${enc}.`
  return [
    ...(missing ? [{ steps: ['client', alg], reason: `is missing, but ${enc} is there`, remedy }] : []),
    ...unsupported(client, alg, ENCRYPTION),
    ...unsupported(client, enc, CONTENT_ENCRYPTION),
  ]
}

// Only signed request objects may be encrypted. Encryption identifies no client (RFC 9101, section 6.1).
function unsignedRequest(client: JsonObject): readonly Finding[] {
  const name = 'request_object_signing_alg'
  if (client.request_object_encryption_alg === undefined || client[name] !== undefined) return []
  const remedy =
    'Write the algorithm that this server signs request objects with. They are signed first, then encrypted.'
  return [{ steps: ['client', name], reason: 'is missing, but request_object_encryption_alg is there', remedy }]
}

function unsupported(client: JsonObject, name: string, supported: readonly string[]): readonly Finding[] {
  const value = client[name]
  if (typeof value !== 'string' || value === '' || supported.includes(value)) return []
  const nearest = nearestName(value, supported)
  const remedy = nearest === undefined ? `Use one of ${supported.join(', ')}.` : `Did you mean ${quoted(nearest)}?`
  return [{ steps: ['client', name], reason: 'is not a supported algorithm', remedy }]
}
