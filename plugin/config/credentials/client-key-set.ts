import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'
import { algorithmsOf } from '../rules/supported/algorithm-names.ts'
import type { ClientKey, PrivateJwk, PublicJwk } from '../settings.ts'

const MIN_RSA_BITS = 2048
const COPY_WHOLE_KEY = 'Copy the whole key as it was exported.'

/**
 * Reads a client's private keys from a JWK Set (RFC 7517). Findings never quote the text, because it contains the keys.
 */
export function readKeySet(text: string): {
  readonly keys: readonly ClientKey[]
  readonly findings: readonly Finding[]
} {
  const remedy = 'Write a JWK Set: an object whose member `keys` is an array of private keys.'
  const set = parsed(text)
  if (set === undefined) return { keys: [], findings: [{ steps: [], reason: 'names a file that is not JSON', remedy }] }
  const list = isJsonObject(set) ? set.keys : undefined
  if (!Array.isArray(list) || list.length === 0) {
    return { keys: [], findings: [{ steps: [], reason: 'names a file without keys', remedy }] }
  }
  const read = list.map((key: unknown) => readKey(key))
  const findings = [
    ...read.flatMap(({ findings }, index) =>
      findings.map((finding) => ({ ...finding, steps: ['keys', index, ...finding.steps] })),
    ),
    ...checkIds(list),
  ]
  return { keys: findings.length > 0 ? [] : read.flatMap(({ key }) => key ?? []), findings }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Checks the ids of the keys, because the IdP uses the id in a token's header to find the key. */
function checkIds(list: readonly unknown[]): readonly Finding[] {
  const ids = list.map((key) => (isJsonObject(key) ? key.kid : undefined))
  return ids.flatMap((id, index): Finding[] => {
    const steps = ['keys', index, 'kid']
    const remedy = 'Give each key its own id, under which the IdP knows this key.'
    if (id === undefined)
      return list.length > 1 ? [{ steps, reason: 'is missing, but there are several keys', remedy }] : []
    if (typeof id !== 'string' || id === '') return [{ steps, reason: 'must be a non-empty string', remedy }]
    return ids.indexOf(id) < index ? [{ steps, reason: 'is also the id of another key', remedy }] : []
  })
}

function readKey(raw: unknown): { readonly key?: ClientKey; readonly findings: readonly Finding[] } {
  const wrong = (name: string | null, reason: string, remedy: string) => ({
    findings: [{ steps: name === null ? [] : [name], reason, remedy }],
  })
  if (!isJsonObject(raw)) return wrong(null, 'must be an object', 'Write a JSON Web Key.')
  const { kty, crv, d, use, alg } = raw
  const supported = algorithmsOf(kty, crv)
  if (supported.signs.length + supported.decrypts.length === 0) {
    const remedy = 'Use RSA, EC on P-256, P-384 or P-521, or OKP on Ed25519 or X25519.'
    return wrong(crv === undefined || kty === 'oct' ? 'kty' : 'crv', 'is not supported', remedy)
  }
  if (typeof d !== 'string' || d === '') return wrong('d', 'is missing: this is a public key', 'Write the private key.')
  if (use !== undefined && use !== 'sig' && use !== 'enc') {
    return wrong(
      'use',
      'must be sig or enc',
      'Write "sig" for a key that signs or "enc" for a key that decrypts, or omit `use`.',
    )
  }
  const allows = (algorithm: string) => alg === undefined || alg === algorithm
  const signs = use === 'enc' ? [] : supported.signs.filter(allows)
  const decrypts = use === 'sig' ? [] : supported.decrypts.filter(allows)
  if (signs.length + decrypts.length === 0) {
    const remedy = 'Write an algorithm that fits the `kty`, `crv` and `use` of the key, or omit `alg`.'
    return alg === undefined
      ? wrong('use', 'does not fit this type of key', 'Use another type of key, or correct `use`.')
      : wrong('alg', 'does not fit this key', remedy)
  }
  const pair = keyPair(raw)
  if (!pair) return wrong(null, 'is not a usable private key', COPY_WHOLE_KEY)
  if (kty === 'RSA' && (pair.privateKey.asymmetricKeyDetails?.modulusLength ?? 0) < MIN_RSA_BITS) {
    return wrong('n', `has fewer than ${MIN_RSA_BITS} bits`, 'Create a longer key.')
  }
  return { key: clientKey(raw, pair, signs, decrypts), findings: [] }
}

interface KeyPair {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

/**
 * Returns the key pair of a JWK. Returns undefined if the members do not form a key, or if the private part does not
 * match the public part.
 */
function keyPair(jwk: JsonObject): KeyPair | undefined {
  try {
    const privateKey = createPrivateKey({ key: { ...jwk }, format: 'jwk' })
    const publicKey = createPublicKey(privateKey)
    if (privateKey.asymmetricKeyType === 'x25519') return { privateKey, publicKey }
    const sample = Buffer.from('mesh-companion')
    const digest = privateKey.asymmetricKeyType === 'ed25519' ? null : 'sha256'
    return verify(digest, sample, publicKey, sign(digest, sample, privateKey)) ? { privateKey, publicKey } : undefined
  } catch {
    return undefined
  }
}

function clientKey(raw: JsonObject, pair: KeyPair, signs: readonly string[], decrypts: readonly string[]): ClientKey {
  const publicJwk = pair.publicKey.export({ format: 'jwk' }) as PublicJwk
  const text = (name: string) => (typeof raw[name] === 'string' ? { [name]: raw[name] } : {})
  return {
    kid: typeof raw.kid === 'string' ? raw.kid : null,
    signs,
    decrypts,
    thumbprints: { ...text('x5t'), ...text('x5t#S256') },
    privateJwk: pair.privateKey.export({ format: 'jwk' }) as PrivateJwk,
    // Export the public part from the key itself, so that no other member of the file is published.
    publicJwk: {
      ...publicJwk,
      // A key without an id gets its thumbprint as the id, because some IdPs ignore keys without one.
      kid: typeof raw.kid === 'string' ? raw.kid : thumbprint(publicJwk),
      ...text('use'),
      ...text('alg'),
    },
  }
}

/**
 * Computes the thumbprint of a key. Members of other key types are undefined, so `JSON.stringify` omits them. Source:
 * RFC 7638, section 3.
 */
function thumbprint({ crv, e, kty, n, x, y }: PublicJwk): string {
  return createHash('sha256').update(JSON.stringify({ crv, e, kty, n, x, y })).digest('base64url')
}
