import type * as oidc from 'openid-client'
import { LoginError, type MessageCode } from '../../errors.ts'
import { PKCE_REFUSED, speaksOfPkce } from './pkce-refused.ts'

interface Meaning {
  readonly remedy: string
  readonly told?: MessageCode
}

/**
 * The IdP sent the browser back with an error. Source: RFC 6749, section 4.1.2.1; OpenID Connect Core 1.0, section
 * 3.1.2.6.
 */
export function authorizationRefused(error: oidc.AuthorizationResponseError): LoginError {
  const { error: word, error_description: errorDescription } = error
  const words = { error: word, ...(errorDescription === undefined ? {} : { errorDescription }) }
  const meaning = speaksOfPkce(words) ? { remedy: PKCE_REFUSED } : meaningOf(word)
  return new LoginError('provider_error', { cause: error, details: words, ...meaning })
}

function meaningOf(word: string): Meaning | undefined {
  return Object.hasOwn(MEANINGS, word) ? MEANINGS[word] : undefined
}

const INCOMPLETE: Meaning = {
  remedy:
    'The person did not finish the sign-in at the IdP, or a request with `prompt=none` found nobody signed in there (`custom.authorization_params`). Nothing to mend when it happens now and then.',
  told: 'sign_in_incomplete',
}

const MEANINGS: Readonly<Record<string, Meaning>> = {
  access_denied: {
    remedy:
      'The person cancelled at the IdP, or the IdP does not let this person use this client: `errorDescription` says more, if anything. Nothing to mend here; who may use the client is set at the IdP.',
    told: 'sign_in_cancelled',
  },
  consent_required: INCOMPLETE,
  login_required: INCOMPLETE,
  interaction_required: INCOMPLETE,
  account_selection_required: INCOMPLETE,
  invalid_scope: {
    remedy:
      'The IdP does not know one of the scopes, or does not grant it to this client. Add it to the client there, or leave it out: `groups.scope` ("" asks for none) and `custom.scope` say what is asked for.',
  },
  invalid_request: {
    remedy:
      'The IdP does not take the request as it is: `errorDescription` says more, if anything. Without a word it may be PKCE (RFC 7636), which some have to be told to allow (in Glewlwyd the plugin), or something that was set here: `client.redirect_uri`, `client.response_mode`, `client.request_object_signing_alg`, `custom.authorization_params`.',
  },
  unauthorized_client: {
    remedy:
      'The client may not sign people in this way: allow it the flow of `client.response_types` at the IdP (in Keycloak: Standard flow for code, Implicit flow for id_token).',
  },
  unsupported_response_type: {
    remedy: 'The IdP does not have the flow of `client.response_types`: leave it out, or allow it at the IdP.',
  },
  unsupported_response_mode: {
    remedy: 'The IdP does not have the way to answer that is asked for: set `client.response_mode`, or leave it out.',
  },
  request_not_supported: {
    remedy: 'The IdP takes no request objects: remove `client.request_object_signing_alg`.',
  },
  request_uri_not_supported: {
    remedy: 'The IdP takes no pushed requests: remove `client.require_pushed_authorization_requests`.',
  },
  invalid_request_object: {
    remedy:
      'The IdP does not take the request object. Check `client.request_object_signing_alg`, the encryption members beside it, and that the IdP knows the key set of this server.',
  },
  temporarily_unavailable: {
    remedy: 'The IdP is overloaded or under maintenance, by its own word. Nothing to mend here.',
    told: 'provider_unreachable',
  },
}
