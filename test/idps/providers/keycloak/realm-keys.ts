import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'

type Json = Readonly<Record<string, unknown>>

/** The algorithms that need an RSA key here. Keycloak creates elliptic-curve keys itself, in no time. */
const RSA_ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256']

/**
 * Creates the keys of a realm in the format of an import. By default, Keycloak creates two RSA keys for each new realm
 * and one for each further algorithm, which takes up to five seconds a case on a busy machine. These are created once.
 */
export async function makeRealmKeys(): Promise<Json> {
  const signing = await Promise.all(
    RSA_ALGORITHMS.map(async (algorithm) => {
      const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
      return provide(algorithm, 'rsa', {
        privateKey: privateKey.export({ format: 'pem', type: 'pkcs8' }),
        algorithm,
        keyUse: 'SIG',
      })
    }),
  )
  const generated = [provide('hmac', 'hmac-generated', { algorithm: 'HS512' }), provide('aes', 'aes-generated', {})]
  return { 'org.keycloak.keys.KeyProvider': [...signing, ...generated] }
}

function provide(name: string, providerId: string, config: Readonly<Record<string, string | Buffer>>): Json {
  const lists = Object.entries({ priority: '100', ...config }).map(([member, value]) => [member, [String(value)]])
  return { name, providerId, config: Object.fromEntries(lists) }
}
