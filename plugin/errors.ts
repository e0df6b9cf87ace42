/** Messages to users. They never quote the IdP, and never name the rule that refused the user. */
export const MESSAGES = {
  login_failed: 'Signing in did not work. Please try again; if it happens again, ask your administrator.',
  login_expired: 'This sign-in took too long or was started in another window. Please sign in again.',
  provider_unreachable: 'The sign-in service cannot be reached at the moment. Please try again in a few minutes.',
  provider_refused:
    'The sign-in service did not sign you in. Please try again; if it happens again, ask your administrator.',
  sign_in_cancelled:
    'You cancelled the sign-in, or the sign-in service did not let you continue. Sign in again when you are ready.',
  sign_in_incomplete: 'The sign-in was not completed. Please sign in again.',
  access_denied: 'Your account may not use this server. Ask your administrator for access.',
  maintenance: 'This server is under maintenance. Please try again later.',
  not_configured: 'Signing in this way is not set up on this server. Ask your administrator.',
  signed_out_here:
    'You are signed out of this server. The sign-in service could not be reached, so you may still be signed in there.',
} as const
export type MessageCode = keyof typeof MESSAGES

interface LoginErrorEntry {
  readonly message: MessageCode
  /**
   * The text for the authentication log. It says what happened, then what an administrator can do. At most 300
   * characters.
   */
  readonly remedy: string
}

/** All errors that end a login, each with the message to the user and the remedy for the authentication log. */
export const LOGIN_ERRORS = {
  discovery_failed: {
    message: 'provider_unreachable',
    remedy:
      'OIDC: Discovery failed. Check `issuer`, and that this server can reach it. If the IdP has a private certificate authority, name its chain in NODE_EXTRA_CA_CERTS. The plugin tries again by itself.',
  },
  metadata_incomplete: {
    message: 'provider_unreachable',
    remedy:
      'The IdP does not publish `endpoint`, which the plugin needs: set it in `issuer`. With a `reason` instead, request objects cannot be encrypted: have the IdP publish a suitable key, or remove `client.request_object_encryption_alg` and `…_enc`.',
  },
  provider_error: {
    message: 'provider_refused',
    remedy:
      'The IdP answered the login with an error. `error` and `errorDescription` are its words; search the log of the IdP for them.',
  },
  scope_refused: {
    message: 'provider_refused',
    remedy:
      'The IdP refused one of `scopes`. Remove the scope that it does not know for this client from `groups.scope` ("" requests none) or `custom.scope`, or register the scope at the IdP.',
  },
  answer_invalid: {
    message: 'provider_refused',
    remedy:
      "The IdP's answer to a login is unusable, as `reason` says. Check `client.response_mode`, `client.authorization_signed_response_alg` and the encryption members, and that the client is registered with the same values at the IdP.",
  },
  initiation_refused: {
    message: 'login_failed',
    remedy:
      'Another site started a login here, but for another IdP: `iss` is not the issuer of this domain. Check which login address of this server that site uses.',
  },
  transaction_missing: {
    message: 'login_expired',
    remedy:
      'The answer belongs to no login of this browser: the login took over 10 minutes, its answer was already used, it began elsewhere, or the browser blocks cookies. Do nothing if this happens only now and then.',
  },
  transaction_foreign: {
    message: 'login_failed',
    remedy:
      'The answer to a login of one domain arrived at another domain. Give each domain its own `client.redirect_uri`.',
  },
  pushed_request_refused: {
    message: 'provider_refused',
    remedy:
      'The IdP refused the pushed authorization request, so no login page appeared. `status`, `error` and `errorDescription` are its answer. For invalid_request, check `client.redirect_uri` and the request object members; for a proof or a nonce, `client.dpop_bound_access_tokens`.',
  },
  token_request_failed: {
    message: 'provider_refused',
    remedy:
      'The IdP did not redeem the authorization code or the refresh token. `error` is its reason. For invalid_client, check `client.client_id`, `client.client_secret` and `client.token_endpoint_auth_method`. For invalid_grant, check `client.redirect_uri`.',
  },
  provider_unreachable: {
    message: 'provider_unreachable',
    remedy:
      'A request to the IdP at `address` got no usable answer: no connection, no answer within 10 seconds, over 1 MB, or no usable key set. `causeCode` or `status` says which.',
  },
  answer_issuer_invalid: {
    message: 'login_failed',
    remedy:
      'The parameter `iss` of the answer (RFC 9207) is missing or names another issuer. Check `issuer`, and that each IdP has its own `client.redirect_uri`. If only some users meet this error, an attacker may be mixing answers of two IdPs.',
  },
  id_token_invalid: {
    message: 'login_failed',
    remedy:
      'The ID token failed a check: issuer, audience, signature, nonce or time. Check `issuer`, `client.client_id`, `client.id_token_signed_response_alg`, and the clocks of both servers.',
  },
  userinfo_failed: {
    message: 'provider_refused',
    remedy:
      'The UserInfo endpoint gave no usable answer for this user. Look for the request in the log of the IdP. If the ID token has every claim, set `issuer.userinfo_endpoint` to false.',
  },
  subject_unusable: {
    message: 'login_failed',
    remedy:
      'The claim that identifies users is missing, or is not a string of 1 to 255 characters without control characters. Check `custom.claims.uuid`.',
  },
  acr_missing: {
    message: 'sign_in_incomplete',
    remedy:
      'The IdP did not sign the user in as `custom.required_acr` demands: `acr` is the value in its ID token, or null. Make the IdP require the second factor for this client, and compare the spelling of the level. Users who cannot reach the level cannot sign in.',
  },
  account_unknown: {
    message: 'access_denied',
    remedy:
      'The user has no account here, and `newAccounts` is not true. Create the account, or set `newAccounts` to true.',
  },
  issuer_changed: {
    message: 'access_denied',
    remedy:
      'The last login of the account came from the issuer `remembered`, this one comes from `issuer`. If both have the same users, add `remembered` to `custom.previous_issuers`. If not, this may be another user with the same id: remove the account, or change `custom.claims.uuid`.',
  },
  account_limit: {
    message: 'access_denied',
    remedy: 'The domain has as many accounts as its limit allows. Raise the limit, or remove accounts.',
  },
  account_locked: {
    message: 'access_denied',
    remedy:
      'An administrator locked the account of this user. The login changed nothing. Unlock the account to admit the user.',
  },
  maintenance: {
    message: 'maintenance',
    remedy: 'The server is in maintenance mode, which admits only site admins.',
  },
  not_in_required_group: {
    message: 'access_denied',
    remedy:
      'The user is in none of the groups in `groups.required`. `groups` are the groups that the IdP reported, unchanged. Names must match exactly.',
  },
  memberships_unknown: {
    message: 'login_failed',
    remedy:
      "The plugin could not read the user's groups, and `groups.required` is set. The line `memberships-unknown` before this one says why: a vendor did not answer or refused, or the claim is not a list of groups.",
  },
  session_ended: {
    message: 'provider_refused',
    remedy: 'The IdP ended the session during the login. No action is needed: the user can sign in again.',
  },
  logout_token_invalid: {
    message: 'provider_refused',
    remedy:
      "A back-channel logout token failed a check, and ended no session. Check that the IdP sends the tokens of this client to this domain's address, and the clocks of both servers. If no user logged out there, a stranger may be probing this server.",
  },
  access_token_invalid: {
    message: 'login_failed',
    remedy:
      'The access token does not belong to this login or to this server. `reason` says whether it differs from the one that the ID token names, or is bound to another certificate or key. Look for the request in the log of the IdP.',
  },
  introspection_failed: {
    message: 'provider_refused',
    remedy:
      'The IdP did not say whether a token is active. For invalid_client, or if it calls valid tokens inactive, check `client.introspection_endpoint_auth_method`, and that the IdP allows this client to introspect.',
  },
  revocation_failed: {
    message: 'provider_refused',
    remedy: 'The IdP did not revoke a token. For invalid_client, check `client.revocation_endpoint_auth_method`.',
  },
  client_keys_missing: {
    message: 'not_configured',
    remedy:
      'No private key of this server signs with an algorithm that the IdP accepts for `member`. Add such a key to the file `jwksFile` of `oidcCredentials` (your own server: `credentials`), or set the algorithm in `client`, such as `client.token_endpoint_auth_signing_alg`.',
  },
  not_configured: {
    message: 'not_configured',
    remedy:
      'The configuration of this domain has errors, so no user can sign in. At its start, the server logged each error as `configuration-error`. Correct them, and restart the server.',
  },
  host_failed: {
    message: 'login_failed',
    remedy:
      'This server could not read or write its accounts, groups or sessions. Check where it stores them; `causeCode` is the code of the error, if it has one.',
  },
  internal: {
    message: 'login_failed',
    remedy: 'An unexpected error happened. Please report it, with its `causeCode` if there is one.',
  },
} as const satisfies Record<string, LoginErrorEntry>
export type LoginErrorCode = keyof typeof LOGIN_ERRORS

export interface LoginErrorOptions {
  /** The underlying error. Its code is logged as `causeCode`. */
  readonly cause?: unknown
  /** Fields of the line in the authentication log. They must not contain a secret. */
  readonly details?: Readonly<Record<string, unknown>>
  /**
   * Replaces the default remedy of the error code with a more precise one. At most 300 characters, because log lines
   * are cut there.
   */
  readonly remedy?: string
  /** Replaces the message that the user sees for this code. */
  readonly told?: MessageCode
}

/** An error that ends a login. Its `message` is the remedy, for the authentication log. */
export class LoginError extends Error {
  override readonly name = 'LoginError'
  readonly code: LoginErrorCode
  readonly details: Readonly<Record<string, unknown>>
  /** The code of the message that the user sees. */
  readonly told: MessageCode
  constructor(code: LoginErrorCode, options: LoginErrorOptions = {}) {
    super(options.remedy ?? LOGIN_ERRORS[code].remedy, 'cause' in options ? { cause: options.cause } : undefined)
    this.code = code
    this.details = options.details ?? {}
    this.told = options.told ?? LOGIN_ERRORS[code].message
  }
}
