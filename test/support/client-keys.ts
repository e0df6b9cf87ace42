import { generateKeyPairSync } from 'node:crypto'
import { roundRobin } from '../../fixtures/round-robin.ts'
import { createFolder } from './file-folder.ts'

export type Jwk = Readonly<Record<string, unknown>>

const KINDS = {
  RSA: roundRobin(6, () => generateKeyPairSync('rsa', { modulusLength: 2048 })),
  'P-256': () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  'P-384': () => generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  'P-521': () => generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  Ed25519: () => generateKeyPairSync('ed25519'),
  X25519: () => generateKeyPairSync('x25519'),
}
export type KeyKind = keyof typeof KINDS

/** A key pair as JSON Web Keys. Both keys have the same `kid`, `use` and `alg`. */
export interface ClientKeyPair {
  readonly private: Jwk
  readonly public: Jwk
}

export function makeKey(kind: KeyKind, members: { kid?: string; use?: string; alg?: string } = {}): ClientKeyPair {
  const { privateKey, publicKey } = KINDS[kind]()
  return {
    private: { ...privateKey.export({ format: 'jwk' }), ...members },
    public: { ...publicKey.export({ format: 'jwk' }), ...members },
  }
}

/** Names of members that only a private key has. */
export const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/** Creates a temporary folder for the files of a client. */
export async function createClientFolder() {
  const folder = await createFolder('client')
  return {
    ...folder,
    /** Writes private keys as a JWK Set. */
    writeKeys: (keys: readonly ClientKeyPair[], name = 'keys.json') =>
      folder.write(name, JSON.stringify({ keys: keys.map((key) => key.private) })),
  }
}
