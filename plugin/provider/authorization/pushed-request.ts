import * as oidc from 'openid-client'
import type { ClientSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import { type DpopKey, proofFor } from '../authentication/dpop.ts'
import { translateTokenFault } from '../faults.ts'

const ENDPOINT = 'pushed_authorization_request_endpoint'

/** Whether this server itself sends (pushes) authorization requests to the IdP. Source: RFC 9126, sections 5 and 6. */
export function isPushed(client: ClientSettings, metadata: oidc.ServerMetadata): boolean {
  return client.require_pushed_authorization_requests || metadata.require_pushed_authorization_requests === true
}

/**
 * Pushes an authorization request to the IdP, so that the browser's address shows no parameters (RFC 9126, section 3).
 *
 * @param dpop if not null, binds the code to this key too (RFC 9449, section 10.1)
 * @returns the address to redirect the browser to
 * @throws LoginError `pushed_request_refused`, `provider_unreachable`, `metadata_incomplete`
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
