import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'
import { algorithmsOf } from '../rules/supported/algorithm-names.ts'
import type { ClientKey, PrivateJwk, PublicJwk } from '../settings.ts'

const SHORTEST_RSA_BITS = 2048
const MAKE_ANEW = 'Write the key as it was exported, whole.'

/**
 * Private keys of a client out of the text of a JWK Set file (RFC 7517), or what is wrong with it; never quotes from
 * it.
 */
export function readKeySet(text: string): {
  readonly keys: readonly ClientKey[]
  readonly findings: readonly Finding[]
} {
  const remedy = 'Write a JWK Set: an object whose member `keys` is an array of private keys.'
  const set = parsed(text)
  if (set === undefined) return { keys: [], findings: [{ at: [], reason: 'names a file that is not JSON', remedy }] }
  const list = isJsonObject(set) ? set.keys : undefined
  if (!Array.isArray(list) || list.length === 0) {
    return { keys: [], findings: [{ at: [], reason: 'names a file without keys', remedy }] }
  }
  const read = list.map((key: unknown) => readKey(key))
  const findings = [
    ...read.flatMap(({ findings }, index) => findings.map((one) => ({ ...one, at: ['keys', index, ...one.at] }))),
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

/** The IdP finds the key of a token by its id. */
function checkIds(list: readonly unknown[]): readonly Finding[] {
  const ids = list.map((key) => (isJsonObject(key) ? key.kid : undefined))
  return ids.flatMap((id, index): Finding[] => {
    const at = ['keys', index, 'kid']
    const remedy = 'Give each key an id of its own, the one that the IdP knows it by.'
    if (id === undefined)
      return list.length > 1 ? [{ at, reason: 'is missing, and there are several keys', remedy }] : []
    if (typeof id !== 'string' || id === '') return [{ at, reason: 'must be a text', remedy }]
    return ids.indexOf(id) < index ? [{ at, reason: 'is the id of another key too', remedy }] : []
  })
}

function readKey(raw: unknown): { readonly key?: ClientKey; readonly findings: readonly Finding[] } {
  const wrong = (name: string | null, reason: string, remedy: string) => ({
    findings: [{ at: name === null ? [] : [name], reason, remedy }],
  })
  if (!isJsonObject(raw)) return wrong(null, 'must be an object', 'Write a JSON Web Key.')
  const { kty, crv, d, use, alg } = raw
  const able = algorithmsOf(kty, crv)
  if (able.signs.length + able.decrypts.length === 0) {
    const known = 'Use RSA, EC on P-256, P-384 or P-521, or OKP on Ed25519 or X25519.'
    return wrong(crv === undefined || kty === 'oct' ? 'kty' : 'crv', 'is not supported', known)
  }
  if (typeof d !== 'string' || d === '') return wrong('d', 'is missing: this is a public key', 'Write the private key.')
  if (use !== undefined && use !== 'sig' && use !== 'enc') {
    return wrong('use', 'must be sig or enc', 'Write what the key is for, or leave it out.')
  }
  const allows = (algorithm: string) => alg === undefined || alg === algorithm
  const signs = use === 'enc' ? [] : able.signs.filter(allows)
  const decrypts = use === 'sig' ? [] : able.decrypts.filter(allows)
  if (signs.length + decrypts.length === 0) {
    const remedy = 'Write an algorithm of this type of key and of its use, or leave it out.'
    return alg === undefined
      ? wrong('use', 'does not go with this type of key', 'Use another key for that.')
      : wrong('alg', 'does not go with this key', remedy)
  }
  const pair = keyPair(raw)
  if (!pair) return wrong(null, 'is no usable private key', MAKE_ANEW)
  if (kty === 'RSA' && (pair.privateKey.asymmetricKeyDetails?.modulusLength ?? 0) < SHORTEST_RSA_BITS) {
    return wrong('n', `has fewer than ${SHORTEST_RSA_BITS} bits`, 'Make a longer key.')
  }
  return { key: clientKey(raw, pair, signs, decrypts), findings: [] }
}

interface KeyPair {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

/** Undefined where the members do not make a key, or its two halves do not belong together. */
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
    // Made of the key itself: what a file has beside the key's own members cannot get out.
    publicJwk: {
      ...publicJwk,
      // Some IdPs leave keys without an id out.
      kid: typeof raw.kid === 'string' ? raw.kid : thumbprint(publicJwk),
      ...text('use'),
      ...text('alg'),
    },
  }
}

/** Source: RFC 7638, section 3. What is not of the type of key is undefined, and so left out. */
function thumbprint({ crv, e, kty, n, x, y }: PublicJwk): string {
  return createHash('sha256').update(JSON.stringify({ crv, e, kty, n, x, y })).digest('base64url')
}
