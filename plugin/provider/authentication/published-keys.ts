import type { ClientKey, PublicJwk } from '../../config/settings.ts'
import { type ClientIdentity, configuredSignatures } from './client-signature.ts'

/**
 * The public halves of this client's keys as an IdP has to find them: each use of a key is an entry, with the algorithm
 * that the configuration names for it, unless the file does. Keycloak picks the key that it encrypts to by its
 * algorithm alone.
 */
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
  const [only, ...others] = named.length > 0 ? named : signs
  // With two of them an IdP would refuse what is signed by the other: it finds the key by its id.
  return [{ ...publicJwk, use: 'sig', ...(only === undefined || others.length > 0 ? {} : { alg: only }) }]
}

/** A key that signs too is published for encryption only where something is to be encrypted to it. */
function forEncryption(
  { signs, decrypts, publicJwk }: ClientKey,
  configured: readonly (string | undefined)[],
): readonly PublicJwk[] {
  const named = decrypts.filter((algorithm) => configured.includes(algorithm))
  if (named.length > 0) return named.map((alg) => ({ ...publicJwk, use: 'enc', alg }))
  return decrypts.length > 0 && signs.length === 0 ? [{ ...publicJwk, use: 'enc' }] : []
}
