import type { DomainSettings } from '../../config/settings.ts'
import { isShared } from '../../provider/authentication/client-signature.ts'
import type { KeySet, PublishedKeys } from '../../provider/issuer/key-set.ts'
import { faultInWords, type Verdict } from './verdict.ts'

/** Whether the keys that ID tokens are verified by can be had, and are of the configured kind. Never rejects. */
export async function askForKeys(
  { client }: Pick<DomainSettings, 'client'>,
  address: string | undefined,
  keySet: KeySet,
): Promise<Verdict> {
  const question = 'key set'
  const algorithm = client.id_token_signed_response_alg
  if (isShared(algorithm)) {
    return { question, verdict: 'ok', text: `not needed: ${algorithm} signs by the client secret` }
  }
  if (address === undefined) {
    return { question, verdict: 'fail', text: 'The IdP publishes no key set: set `issuer.jwks_uri` by hand.' }
  }
  try {
    const keys = await keySet.current(address)
    const count = `${keys.jwks.keys.length} key${keys.jwks.keys.length === 1 ? '' : 's'}`
    if (await hasKeyFor(keys, algorithm)) return { question, verdict: 'ok', text: `${count}, for ${algorithm} too` }
    const text = `None of its ${count} is for ${algorithm}: set \`client.id_token_signed_response_alg\` to what the IdP signs ID tokens of this client by, or have it sign by ${algorithm}.`
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
    // Which of several it is, only a token says.
    return error instanceof Error && 'code' in error && error.code === 'ERR_JWKS_MULTIPLE_MATCHING_KEYS'
  }
}
