/** What a person is told: a few sentences of ours, never a word of the IdP's, never the rule that refused. */
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
  /** For the authentication log: what happened, and what an administrator can mend. */
  readonly remedy: string
}

/** Every way in which a login can fail: what the person sees, and what the authentication log says. */
export const LOGIN_ERRORS = {
  discovery_failed: {
    message: 'provider_unreachable',
    remedy:
      'OIDC: Discovery failed. Check `issuer`, and that this server reaches it. When the IdP has a private certificate authority, name its chain in NODE_EXTRA_CA_CERTS. It is tried again by itself.',
  },
  metadata_incomplete: {
    message: 'provider_unreachable',
    remedy:
      'The IdP publishes no authorization, token or key set endpoint that is needed: set it in `issuer` by hand. Or no key to encrypt to, as `reason` says.',
  },
  provider_error: {
    message: 'provider_refused',
    remedy:
      'The IdP answered the login with an error. `error` and `errorDescription` are its words; look for them in its own log.',
  },
  scope_refused: {
    message: 'provider_refused',
    remedy:
      'The IdP refused a scope: `scopes` are those that were asked for. Take away what it does not know for this client: `groups.scope` ("" asks for none) and `custom.scope`. Or register it there.',
  },
  answer_invalid: {
    message: 'provider_refused',
    remedy:
      'The answer to a login cannot be taken as it came: `reason` says why. Check `client.response_mode`, `client.authorization_signed_response_alg` and the encryption members, and that the client is registered so at the IdP.',
  },
  initiation_refused: {
    message: 'login_failed',
    remedy:
      'A login that was begun elsewhere is for another IdP: `iss` is not the issuer of this domain. Check the address that whoever begins it has for this server.',
  },
  transaction_missing: {
    message: 'login_expired',
    remedy:
      'The answer belongs to no login of this browser: abandoned for over 10 minutes, already used, started elsewhere, or cookies are blocked. Nothing to mend when it happens now and then.',
  },
  transaction_foreign: {
    message: 'login_failed',
    remedy:
      'The answer to a login of one domain came in at another. Check that each domain has its own `client.redirect_uri`.',
  },
  pushed_request_refused: {
    message: 'provider_refused',
    remedy:
      'The IdP did not take the pushed authorization request: nobody got as far as its login page. `status`, `error` and `errorDescription` are its answer. For invalid_request check `client.redirect_uri` and the members on request objects, for a proof or a nonce `client.dpop_bound_access_tokens`.',
  },
  token_request_failed: {
    message: 'provider_refused',
    remedy:
      'The IdP did not redeem the authorization code, or a refresh token. `error` is its reason: for invalid_client check `client.client_id`, `client.client_secret` and `client.token_endpoint_auth_method`; for invalid_grant check `client.redirect_uri`.',
  },
  provider_unreachable: {
    message: 'provider_unreachable',
    remedy:
      'A request to the IdP at `address` was not answered as it should be: no connection, no answer in 10 seconds, over 1 MB, or no usable key set. `causeCode` or `status` says which.',
  },
  answer_issuer_invalid: {
    message: 'login_failed',
    remedy:
      'The parameter `iss` of the answer (RFC 9207) is missing or names another issuer. Check `issuer`, and each IdP its own `client.redirect_uri`. When only some people meet it, somebody may be mixing answers of two IdPs.',
  },
  id_token_invalid: {
    message: 'login_failed',
    remedy:
      'The ID token did not pass its checks: issuer, audience, signature, nonce or time. Check `issuer`, `client.client_id`, `client.id_token_signed_response_alg`, and both clocks.',
  },
  userinfo_failed: {
    message: 'provider_refused',
    remedy:
      'The UserInfo endpoint gave no usable answer for this user. Look for the request in the log of the IdP. If the ID token has every claim: set `issuer.userinfo_endpoint` to false.',
  },
  subject_unusable: {
    message: 'login_failed',
    remedy:
      'The claim that identifies users is missing, or no text of 1 to 255 characters without control characters. Check `custom.claims.uuid`.',
  },
  acr_missing: {
    message: 'sign_in_incomplete',
    remedy:
      'The IdP did not sign the person in as `custom.required_acr` demands: `acr` is what its ID token says, null for nothing. Let the IdP ask this client for the second factor, and check how it spells the level; a level that the person cannot reach is refused there or here.',
  },
  account_unknown: {
    message: 'access_denied',
    remedy:
      'The user has no account here and `newAccounts` is not true. Create the account, or set `newAccounts` to true.',
  },
  issuer_changed: {
    message: 'access_denied',
    remedy:
      'The account belongs to another issuer: `remembered` is that of its last login, `issuer` is this one. If both have the same users, add `remembered` to `custom.previous_issuers`. If not, somebody else may have the same id there: remove the account or change `custom.claims.uuid`.',
  },
  account_limit: {
    message: 'access_denied',
    remedy: 'The domain has as many accounts as its limit allows. Raise the limit, or remove accounts.',
  },
  account_locked: {
    message: 'access_denied',
    remedy: 'An administrator has locked the account of this user. Nothing was changed. Unlock it to let the user in.',
  },
  maintenance: {
    message: 'maintenance',
    remedy: 'The server is in maintenance mode, which lets nobody in but site admins.',
  },
  not_in_required_group: {
    message: 'access_denied',
    remedy:
      'The user is in none of the groups in `groups.required`. `groups` are those that the IdP reported, to the letter; rules match exactly.',
  },
  memberships_unknown: {
    message: 'login_failed',
    remedy:
      'The group memberships could not be learned, and `groups.required` is set. The line `memberships-unknown` before this one says why: a vendor that did not answer or refused, or a claim that is no list of groups.',
  },
  session_ended: {
    message: 'provider_refused',
    remedy: 'The IdP ended the session while the login was under way. Nothing to mend; the person signs in again.',
  },
  logout_token_invalid: {
    message: 'provider_refused',
    remedy:
      "A back-channel logout token did not pass its checks, and ended nothing. Check that the IdP sends those of this client to this domain's address, and both clocks. If nobody logged out there, somebody is trying doors.",
  },
  access_token_invalid: {
    message: 'login_failed',
    remedy:
      'The access token does not belong to this login or to this server: `reason` says whether it is not the one of the ID token, or bound to the certificate of somebody else. Look for the request in the log of the IdP.',
  },
  introspection_failed: {
    message: 'provider_refused',
    remedy:
      'The IdP did not say whether a token is still good. For invalid_client, and for tokens that it wrongly calls inactive, check `client.introspection_endpoint_auth_method`, and that this client may introspect there.',
  },
  revocation_failed: {
    message: 'provider_refused',
    remedy: 'The IdP did not revoke a token. For invalid_client check `client.revocation_endpoint_auth_method`.',
  },
  client_keys_missing: {
    message: 'not_configured',
    remedy:
      'No private key of this server signs by an algorithm that the IdP takes. Add one to the file `jwksFile` of its credentials, or set the algorithm in `client` by hand.',
  },
  not_configured: {
    message: 'not_configured',
    remedy: 'The configuration of this domain has errors. They were listed when the server started.',
  },
  host_failed: {
    message: 'login_failed',
    remedy: 'This server could not read or write its accounts, groups or sessions. See the cause.',
  },
  internal: {
    message: 'login_failed',
    remedy: 'Something unforeseen happened. See the cause, and please report it.',
  },
} as const satisfies Record<string, LoginErrorEntry>
export type LoginErrorCode = keyof typeof LOGIN_ERRORS

export interface LoginErrorOptions {
  /** Kept for its code only. */
  readonly cause?: unknown
  /** For the authentication log; no secrets. */
  readonly details?: Readonly<Record<string, unknown>>
  /** In place of the code's own, where more is known: at most 300 characters, more does not fit into a line. */
  readonly remedy?: string
  /** In place of the code's own. */
  readonly told?: MessageCode
}

/** Ends a login. The message of the error is the remedy, for the authentication log. */
export class LoginError extends Error {
  override readonly name = 'LoginError'
  readonly code: LoginErrorCode
  readonly details: Readonly<Record<string, unknown>>
  /** What the person reads. */
  readonly told: MessageCode
  constructor(code: LoginErrorCode, options: LoginErrorOptions = {}) {
    super(options.remedy ?? LOGIN_ERRORS[code].remedy, 'cause' in options ? { cause: options.cause } : undefined)
    this.code = code
    this.details = options.details ?? {}
    this.told = options.told ?? LOGIN_ERRORS[code].message
  }
}
