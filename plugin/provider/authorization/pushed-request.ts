import * as oidc from 'openid-client'
import type { ClientSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import { type DpopKey, proofFor } from '../authentication/dpop.ts'
import { translateTokenFault } from '../faults.ts'

const ENDPOINT = 'pushed_authorization_request_endpoint'

/**
 * Whether requests are pushed: the IdP may demand it of everybody, or of this client alone. Source: RFC 9126, sections
 * 5 and 6.
 */
export function isPushed(client: ClientSettings, metadata: oidc.ServerMetadata): boolean {
  return client.require_pushed_authorization_requests || metadata.require_pushed_authorization_requests === true
}

/**
 * Hands an authorization request to the IdP itself, so that the browser's address holds nothing of it. Where there is a
 * request object, it stands alone beside what authenticates this server. Source: RFC 9126, section 3.
 *
 * @param dpop null: access tokens are bound to no key. With one the code is, too (RFC 9449, section 10.1)
 * @returns where the browser goes
 * @throws LoginError `pushed_request_refused`, or why there was no answer
 */
export async function pushRequest(
  config: oidc.Configuration,
  parameters: Readonly<Record<string, string>>,
  dpop: DpopKey | null,
): Promise<URL> {
  if (config.serverMetadata()[ENDPOINT] === undefined) {
    throw new LoginError('metadata_incomplete', { details: { endpoint: ENDPOINT, member: `issuer.${ENDPOINT}` } })
  }
  try {
    return await oidc.buildAuthorizationUrlWithPAR(config, parameters, await proofFor(dpop, config))
  } catch (error) {
    throw translateTokenFault(error, 'pushed_request_refused')
  }
}
