import { randomBytes } from 'node:crypto'
import type { DomainSettings } from '../../config/settings.ts'
import type { LoginError } from '../../errors.ts'
import type { ProviderClient } from '../../provider/client.ts'
import { faultInWords, type Verdict } from './verdict.ts'

const question = 'secret or key'

type Offering = Pick<ProviderClient, 'offerMadeUpCode'>

/**
 * Whether the token endpoint takes this server for the client that it says it is. Never rejects.
 *
 * @param clientOf the same IdP with this server as another client
 */
export async function askForAcceptance(
  settings: DomainSettings,
  { offerMadeUpCode }: Offering,
  clientOf: (settings: DomainSettings) => Offering,
): Promise<Verdict> {
  const {
    response_types: [type],
    token_endpoint_auth_method: method,
  } = settings.client
  if (type === 'id_token') return { question, verdict: 'ok', text: 'not needed: a login redeems no code' }
  const fault = await offerMadeUpCode()
  if (fault === null) {
    return { question, verdict: 'fail', text: 'The token endpoint redeemed a made-up code: it is none of an IdP.' }
  }
  const { error } = fault.details
  if (objectsToCode(fault)) {
    // One that looks at the code first (better-auth does) says so to everybody, which tells nothing.
    const client_id = `nobody-${randomBytes(8).toString('hex')}`
    const said = await clientOf({ ...settings, client: { ...settings.client, client_id } }).offerMadeUpCode()
    if (!objectsToCode(said)) {
      return { question, verdict: 'ok', text: `accepted by ${method}: the IdP objects to the made-up code alone` }
    }
    const text = `The IdP looks at the code before it looks at the client: it says the same to one that is not there. Whether it accepts this one by ${method} shows when somebody signs in.`
    return { question, verdict: 'warn', text }
  }
  if (error === 'invalid_request' || error === 'temporarily_unavailable') {
    const text = `The IdP took offence at the request itself, so this does not tell whether it accepts the client by ${method}. ${faultInWords(fault)}`
    return { question, verdict: 'warn', text }
  }
  return { question, verdict: 'fail', text: faultInWords(fault) }
}

/** `invalid_grant` of RFC 6749, section 5.2; Glewlwyd's word is `invalid_code`. */
function objectsToCode(fault: LoginError | null): boolean {
  const { error, status } = fault?.details ?? {}
  return (error === 'invalid_grant' || error === 'invalid_code') && status !== 401
}
