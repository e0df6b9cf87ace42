import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'

type Json = Readonly<Record<string, unknown>>

/** The algorithms that its RSA keys sign by here; keys on curves it makes by itself, in no time. */
const RSA_ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256']

/**
 * The keys of a realm, as an import takes them. Left to itself, Keycloak makes two RSA keys for each new realm and one
 * more for each further algorithm: up to five seconds a case on a busy machine. These are made once.
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
  const own = [provide('hmac', 'hmac-generated', { algorithm: 'HS512' }), provide('aes', 'aes-generated', {})]
  return { 'org.keycloak.keys.KeyProvider': [...signing, ...own] }
}

function provide(name: string, providerId: string, config: Readonly<Record<string, string | Buffer>>): Json {
  const lists = Object.entries({ priority: '100', ...config }).map(([member, value]) => [member, [String(value)]])
  return { name, providerId, config: Object.fromEntries(lists) }
}
