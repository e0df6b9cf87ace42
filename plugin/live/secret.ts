import type { ClientSettings } from '../config/settings.ts'
import type { ProviderClient } from '../provider/client.ts'
import { faultInWords, type Verdict } from './verdict.ts'

const question = 'secret or key'

/** Whether the token endpoint takes this server for the client that it says it is. Never rejects. */
export async function askForAcceptance(
  { response_types: [type], token_endpoint_auth_method: method }: ClientSettings,
  { offerMadeUpCode }: Pick<ProviderClient, 'offerMadeUpCode'>,
): Promise<Verdict> {
  if (type === 'id_token') return { question, verdict: 'ok', text: 'not needed: a login redeems no code' }
  const fault = await offerMadeUpCode()
  if (fault === null) {
    return { question, verdict: 'fail', text: 'The token endpoint redeemed a made-up code: it is none of an IdP.' }
  }
  const { error, status } = fault.details
  if (error === 'invalid_grant' && status !== 401) {
    return { question, verdict: 'ok', text: `accepted by ${method}: the IdP objects to the made-up code alone` }
  }
  if (error === 'invalid_request' || error === 'temporarily_unavailable') {
    const text = `The IdP took offence at the request itself, so this does not tell whether it accepts the client by ${method}. ${faultInWords(fault)}`
    return { question, verdict: 'warn', text }
  }
  return { question, verdict: 'fail', text: faultInWords(fault) }
}
