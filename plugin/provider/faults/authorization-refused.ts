import type * as oidc from 'openid-client'
import { LoginError, type MessageCode } from '../../errors.ts'
import { isAboutPkce, PKCE_REFUSED } from './pkce-refused.ts'

interface Meaning {
  readonly remedy: string
  readonly told?: MessageCode
}

/**
 * Translates an error that the IdP returned through the browser. Source: RFC 6749, section 4.1.2.1; OpenID Connect Core
 * 1.0, section 3.1.2.6.
 */
export function authorizationRefused(error: oidc.AuthorizationResponseError): LoginError {
  const { error: code, error_description: errorDescription } = error
  const words = { error: code, ...(errorDescription === undefined ? {} : { errorDescription }) }
  const meaning = isAboutPkce(words) ? { remedy: PKCE_REFUSED } : meaningOf(code)
  return new LoginError('provider_error', { cause: error, details: words, ...meaning })
}

function meaningOf(code: string): Meaning | undefined {
  return Object.hasOwn(MEANINGS, code) ? MEANINGS[code] : undefined
}

const INCOMPLETE: Meaning = {
  remedy:
    'The user did not finish signing in at the IdP, or a request with `prompt=none` (`custom.authorization_params`) found no signed-in user there. Nothing needs to be done if it happens occasionally.',
  told: 'sign_in_incomplete',
}

const MEANINGS: Readonly<Record<string, Meaning>> = {
  access_denied: {
    remedy:
      'The user cancelled at the IdP, or may not use this client; see `errorDescription`. Nothing needs to be done here: the IdP decides who may use the client.',
    told: 'sign_in_cancelled',
  },
  consent_required: INCOMPLETE,
  login_required: INCOMPLETE,
  interaction_required: INCOMPLETE,
  account_selection_required: INCOMPLETE,
  invalid_scope: {
    remedy:
      'The IdP does not know one of the scopes, or does not grant it to this client. Add the scope to the client at the IdP, or remove it from `groups.scope` ("" requests none) or `custom.scope`.',
  },
  invalid_request: {
    remedy:
      'The IdP rejects the request; see `errorDescription`. If that is missing, the reason may be PKCE (RFC 7636), which some IdPs must be told to allow (Glewlwyd: in its plugin). Otherwise check `client.redirect_uri`, `client.response_mode`, `client.request_object_signing_alg` and `custom.authorization_params`.',
  },
  unauthorized_client: {
    remedy:
      'The client may not use this flow. At the IdP, allow it the flow of `client.response_types` (in Keycloak: Standard flow for code, Implicit flow for id_token).',
  },
  unsupported_response_type: {
    remedy:
      'The IdP does not support the flow of `client.response_types`. Remove that member, or allow the flow at the IdP.',
  },
  unsupported_response_mode: {
    remedy: 'The IdP does not support the requested response mode. Change `client.response_mode`, or remove it.',
  },
  request_not_supported: {
    remedy: 'The IdP does not support request objects. Remove `client.request_object_signing_alg`.',
  },
  request_uri_not_supported: {
    remedy: 'The IdP does not support pushed requests. Remove `client.require_pushed_authorization_requests`.',
  },
  invalid_request_object: {
    remedy:
      'The IdP rejects the request object. Check `client.request_object_signing_alg`, the `client.request_object_encryption_…` members, and that the IdP knows the key set of this server.',
  },
  temporarily_unavailable: {
    remedy: 'The IdP says that it is overloaded or under maintenance. Nothing needs to be done here.',
    told: 'provider_unreachable',
  },
}
