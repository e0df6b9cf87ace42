import type { ClientKey, PublicJwk } from '../../config/settings.ts'
import { type ClientIdentity, configuredSignatures } from './client-signature.ts'

/** Returns this client's public keys, with an entry for each use of a key. */
export function publishedKeys({ client, credentials }: ClientIdentity): readonly PublicJwk[] {
  const signatures = configuredSignatures(client)
  const encryption = [
    client.id_token_encrypted_response_alg,
    client.userinfo_encrypted_response_alg,
    client.authorization_encrypted_response_alg,
  ]
  return credentials.keys.flatMap((key) => [...forSignatures(key, signatures), ...forEncryption(key, encryption)])
}

function forSignatures({ signs, publicJwk }: ClientKey, configured: readonly string[]): readonly PublicJwk[] {
  if (signs.length === 0) return []
  const named = signs.filter((algorithm) => configured.includes(algorithm))
  const [algorithm, ...alternatives] = named.length > 0 ? named : signs
  // Publish a key for several algorithms without `alg`, because IdPs refuse signatures with another algorithm than
  // that.
  return [
    { ...publicJwk, use: 'sig', ...(algorithm === undefined || alternatives.length > 0 ? {} : { alg: algorithm }) },
  ]
}

/**
 * Returns a key's public JWKs for encryption. A key that can also sign has such JWKs only if the configuration names an
 * encryption algorithm for it.
 */
function forEncryption(
  { signs, decrypts, publicJwk }: ClientKey,
  configured: readonly (string | undefined)[],
): readonly PublicJwk[] {
  const named = decrypts.filter((algorithm) => configured.includes(algorithm))
  // Keycloak selects a key for encryption by its `alg`.
  if (named.length > 0) return named.map((alg) => ({ ...publicJwk, use: 'enc', alg }))
  return decrypts.length > 0 && signs.length === 0 ? [{ ...publicJwk, use: 'enc' }] : []
}
