import { randomBytes } from 'node:crypto'
import type { DomainSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import { endpointAddress } from '../../provider/http/endpoints.ts'
import type { Fetch } from '../../provider/http/limited-fetch.ts'
import { faultInWords, type Verdict } from './verdict.ts'

const question = 'UserInfo'

/**
 * Asks UserInfo with a made-up access token, which it has to refuse. That shows a wrong address, a proxy or a firewall
 * in the way. It does not show an IdP that refuses the tokens of logins too (AD FS). Never rejects.
 */
export async function askForUserInfo(
  settings: DomainSettings,
  metadata: Parameters<typeof endpointAddress>[0],
  fetch: Fetch,
): Promise<Verdict> {
  if (settings.issuer.manual.userinfo_endpoint === false) {
    return { question, verdict: 'ok', text: 'not used, as issuer.userinfo_endpoint says' }
  }
  const address = endpointAddress(metadata, settings.credentials, 'userinfo_endpoint')
  if (address === undefined) {
    return { question, verdict: 'ok', text: 'the IdP publishes none: the ID token has to have every claim' }
  }
  const authorization = `Bearer made-up-${randomBytes(16).toString('base64url')}`
  const headers = { accept: 'application/json', authorization }
  try {
    const { status } = await fetch(address, { method: 'GET', headers, body: undefined, redirect: 'manual' })
    if (REFUSALS.includes(status))
      return { question, verdict: 'ok', text: `refuses a made-up token (status ${status})` }
    return { question, verdict: 'warn', text: `It should refuse a made-up token. ${GOES_ON} [status: ${status}]` }
  } catch (cause) {
    const fault = new LoginError('provider_unreachable', { cause, remedy: 'It cannot be reached.' })
    return { question, verdict: 'warn', text: `${faultInWords(fault)} ${GOES_ON}` }
  }
}

/** RFC 6750, section 3.1. */
const REFUSALS: readonly number[] = [400, 401, 403]

const GOES_ON =
  'Logins go on with the ID token alone, if the id is in it. Check `issuer.userinfo_endpoint` and what stands before it, or set it to false if the ID token has everything.'
