import type { DomainSettings } from '../../config/settings.ts'
import { isShared } from '../../provider/authentication/client-signature.ts'
import type { KeySet, PublishedKeys } from '../../provider/issuer/key-set.ts'
import { faultInWords, type Verdict } from './verdict.ts'

/** Checks whether the IdP's keys can be loaded and one of them fits the algorithm of ID tokens. Never rejects. */
export async function askForKeys(
  { client }: Pick<DomainSettings, 'client'>,
  address: string | undefined,
  keySet: KeySet,
): Promise<Verdict> {
  const question = 'key set'
  const algorithm = client.id_token_signed_response_alg
  if (isShared(algorithm)) {
    return { question, verdict: 'ok', text: `not needed: ${algorithm} signs with the client secret` }
  }
  if (address === undefined) {
    return { question, verdict: 'fail', text: 'The IdP publishes no key set. Set `issuer.jwks_uri`.' }
  }
  try {
    const keys = await keySet.current(address)
    const count = `${keys.jwks.keys.length} key${keys.jwks.keys.length === 1 ? '' : 's'}`
    if (await hasKeyFor(keys, algorithm))
      return { question, verdict: 'ok', text: `${count}, at least one for ${algorithm}` }
    const text = `No key of ${count} is for ${algorithm}. Set \`client.id_token_signed_response_alg\` to the algorithm that the IdP uses for ID tokens of this client, or have the IdP use ${algorithm}.`
    return { question, verdict: 'fail', text }
  } catch (error) {
    return { question, verdict: 'fail', text: faultInWords(error) }
  }
}

async function hasKeyFor({ find }: PublishedKeys, alg: string): Promise<boolean> {
  try {
    await find({ alg }, { payload: '', signature: '' })
    return true
  } catch (error) {
    // This error means that several keys match. One match is enough, because the key id in a token's header selects the
    // right key.
    return error instanceof Error && 'code' in error && error.code === 'ERR_JWKS_MULTIPLE_MATCHING_KEYS'
  }
}
