import type { ServerMetadata } from 'openid-client'
import { LoginError } from '../../errors.ts'
import type { ClientSecret } from '../authentication/client-secret.ts'
import { type ClientIdentity, isShared } from '../authentication/client-signature.ts'
import type { KeySet } from '../issuer/key-set.ts'
import { keyIdOf } from '../issuer/served-keys.ts'
import { verifySharedSignature } from './protected-answers.ts'
import { verifySignature } from './signature.ts'

type Publisher = Pick<ServerMetadata, 'jwks_uri'>

/** Verifies signatures of one domain's IdP. */
export interface IdpSignatures {
  /**
   * Verifies that one of the IdP's keys signed a token.
   *
   * @throws LoginError `id_token_invalid`, `metadata_incomplete`, `provider_unreachable`
   */
  verify(token: string, publisher: Publisher, algorithm: string): Promise<void>
  /** Verifies an ID token, which may also be signed with the client secret. */
  verifyIdToken(idToken: string, publisher: Publisher): Promise<void>
}

/** @param secret the client secret if it is in a file of its own; null if it is written in the configuration */
export function idpSignatures(identity: ClientIdentity, keySet: KeySet, secret: ClientSecret | null): IdpSignatures {
  const idTokenAlgorithm = identity.client.id_token_signed_response_alg

  async function verify(token: string, { jwks_uri: address }: Publisher, algorithm: string): Promise<void> {
    if (address === undefined) throw new LoginError('metadata_incomplete', { details: { endpoint: 'jwks_uri' } })
    const { find } = await keySet.current(address, keyIdOf(token))
    await verifySignature(token, find, algorithm)
  }

  return {
    verify,
    verifyIdToken(idToken, publisher) {
      if (!isShared(idTokenAlgorithm)) return verify(idToken, publisher, idTokenAlgorithm)
      const verifyWithCurrent = () => verifySharedSignature(idToken, identity)
      return secret ? secret.withRetry(verifyWithCurrent) : verifyWithCurrent()
    },
  }
}
