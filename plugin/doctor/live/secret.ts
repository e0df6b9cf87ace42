import { randomBytes } from 'node:crypto'
import type { DomainSettings } from '../../config/settings.ts'
import type { LoginError } from '../../errors.ts'
import type { ProviderClient } from '../../provider/client.ts'
import { faultInWords, type Verdict } from './verdict.ts'

const question = 'secret or key'

type Offering = Pick<ProviderClient, 'offerMadeUpCode'>

/** Checks whether the token endpoint accepts this server as the configured client. Never rejects. */
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
    return {
      question,
      verdict: 'fail',
      text: 'The token endpoint redeemed a made-up code, so it is not the token endpoint of an IdP. Check `issuer.token_endpoint` if it is set, otherwise `issuer`.',
    }
  }
  const { error } = fault.details
  if (objectsToCode(fault)) {
    // Some IdPs, such as better-auth, check the code before the client. They answer the same to a client that does not
    // exist.
    const client_id = `unknown-${randomBytes(8).toString('hex')}`
    const answer = await clientOf({ ...settings, client: { ...settings.client, client_id } }).offerMadeUpCode()
    if (!objectsToCode(answer)) {
      return { question, verdict: 'ok', text: `accepted with ${method}: the IdP objects to the made-up code only` }
    }
    const text = `The IdP checks the code before the client: it answers the same to a client that does not exist. Whether it accepts this client with ${method} will show at the first login.`
    return { question, verdict: 'warn', text }
  }
  if (error === 'invalid_request' || error === 'temporarily_unavailable') {
    const text = `The IdP refuses the request itself, so the check cannot tell whether the IdP accepts the client with ${method}. ${faultInWords(fault)}`
    return { question, verdict: 'warn', text }
  }
  return { question, verdict: 'fail', text: faultInWords(fault) }
}

/**
 * Whether the IdP refused the code: with `invalid_grant` (RFC 6749, section 5.2), or with `invalid_code` (Glewlwyd).
 */
function objectsToCode(fault: LoginError | null): boolean {
  const { error, status } = fault?.details ?? {}
  return (error === 'invalid_grant' || error === 'invalid_code') && status !== 401
}
