import { randomBytes } from 'node:crypto'
import type { DomainSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import { endpointAddress } from '../../provider/http/endpoints.ts'
import type { Fetch } from '../../provider/http/limited-fetch.ts'
import { faultInWords, type Verdict } from './verdict.ts'

const question = 'UserInfo'

/**
 * Checks that the UserInfo endpoint refuses a made-up token. This finds a wrong address or a proxy, but not an IdP that
 * refuses every token, such as AD FS. Never rejects.
 */
export async function askForUserInfo(
  settings: DomainSettings,
  metadata: Parameters<typeof endpointAddress>[0],
  fetch: Fetch,
): Promise<Verdict> {
  if (settings.issuer.manual.userinfo_endpoint === false) {
    return { question, verdict: 'ok', text: 'switched off by issuer.userinfo_endpoint' }
  }
  const address = endpointAddress(metadata, settings.credentials, 'userinfo_endpoint')
  if (address === undefined) {
    return { question, verdict: 'ok', text: 'the IdP publishes none, so the ID token must contain every claim' }
  }
  const authorization = `Bearer made-up-${randomBytes(16).toString('base64url')}`
  const headers = { accept: 'application/json', authorization }
  try {
    const { status } = await fetch(address, { method: 'GET', headers, body: undefined, redirect: 'manual' })
    if (REFUSALS.includes(status))
      return { question, verdict: 'ok', text: `refuses a made-up token (status ${status})` }
    return {
      question,
      verdict: 'warn',
      text: `The endpoint did not refuse a made-up token. ${CONSEQUENCE} [status: ${status}]`,
    }
  } catch (cause) {
    const fault = new LoginError('provider_unreachable', { cause, remedy: 'The endpoint cannot be reached.' })
    return { question, verdict: 'warn', text: `${faultInWords(fault)} ${CONSEQUENCE}` }
  }
}

/** Status codes of an endpoint that refuses a token. Source: RFC 6750, section 3.1. */
const REFUSALS: readonly number[] = [400, 401, 403]

const CONSEQUENCE =
  'Logins continue with the ID token alone if it contains the id of the user. Check `issuer.userinfo_endpoint`, and proxies in front of the endpoint. If the ID token contains every claim, set `issuer.userinfo_endpoint` to false.'
