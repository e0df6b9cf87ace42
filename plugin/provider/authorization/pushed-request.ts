import * as oidc from 'openid-client'
import type { ClientSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import type { DpopKey } from '../authentication/dpop.ts'
import { translateTokenFault } from '../faults.ts'

const ENDPOINT = 'pushed_authorization_request_endpoint'

/** Whether requests are pushed: the IdP may demand it of everybody, or of this client alone. Source: RFC 9126, sections 5 and 6. */
export function isPushed(client: ClientSettings, metadata: oidc.ServerMetadata): boolean {
  return client.require_pushed_authorization_requests || metadata.require_pushed_authorization_requests === true
}

/**
 * Hands an authorization request to the IdP itself, so that the browser's address holds nothing of it. Where there is a request object,
 * it stands alone beside what authenticates this server. Source: RFC 9126, section 3.
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
    return await oidc.buildAuthorizationUrlWithPAR(config, parameters, dpop ? { DPoP: await dpop(config) } : {})
  } catch (error) {
    throw pushFault(error, parameters)
  }
}

function pushFault(error: unknown, parameters: Readonly<Record<string, string>>): LoginError {
  const { code, cause, details } = translateTokenFault(error, 'pushed_request_refused')
  // Whatever it is: it is an answer, so that the IdP was reached.
  const answered = code === 'provider_unreachable' && details.status !== undefined
  if (code !== 'pushed_request_refused' && !answered) {
    return new LoginError(code, { cause, details: { ...details, endpoint: ENDPOINT } })
  }
  const reason = typeof details.error === 'string' ? details.error : undefined
  const member = memberToSet(reason, details.status, 'request' in parameters)
  return new LoginError('pushed_request_refused', {
    cause,
    details: { ...details, endpoint: ENDPOINT, member },
  })
}

/** What to look at first. @param reason the IdP's error code; undefined: the answer is none of the protocol */
function memberToSet(reason: string | undefined, status: unknown, signed: boolean): string {
  switch (reason) {
    case 'invalid_client':
    case 'unauthorized_client':
      return 'client.client_secret, client.token_endpoint_auth_method'
    case 'invalid_redirect_uri':
      return 'client.redirect_uri'
    case 'invalid_request_object':
      return 'client.request_object_signing_alg'
    case 'invalid_dpop_proof':
    case 'use_dpop_nonce':
      return 'client.dpop_bound_access_tokens'
    case 'invalid_request':
      // Keycloak takes either a pushed request or a request object of a client that is said to use objects only.
      return signed
        ? 'client.request_object_signing_alg, client.require_pushed_authorization_requests'
        : 'client.redirect_uri, client.require_signed_request_object'
    default:
      return status === 401
        ? 'client.client_secret, client.token_endpoint_auth_method'
        : `issuer.${ENDPOINT}, client.require_pushed_authorization_requests`
  }
}
