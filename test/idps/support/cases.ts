import { RENEWALS } from './renewals.ts'

/** The cases that the matrix tries on every provider, in this order. */
export const CASES = {
  login: 'a user signs in with name and e-mail address',
  client_secret_basic: 'a login works with client_secret_basic',
  client_secret_post: 'a login works with client_secret_post',
  client_secret_jwt: 'a login works with client_secret_jwt',
  private_key_jwt: 'a login works with private_key_jwt and keys by address',
  public_client: 'a login works without client secret (none, PKCE)',
  tls_client_auth: 'a login works with tls_client_auth',
  self_signed_tls_client_auth: 'a login works with self_signed_tls_client_auth',
  secret_uuid: 'a login works with dashes in the client secret (UUID)',
  secret_blanks: 'a login works with blanks in the client secret',
  secret_signs: 'a login works with + % : / & = in the client secret',
  secret_letters: 'a login works with letters beyond ASCII in the client secret',
  groups_unasked: 'groups.required works with groups that are sent without a scope',
  groups_by_scope: 'groups.required works with groups that the scope groups requests',
  groups_required: 'groups.required admits its members and refuses others',
  groups_siteadmin: 'groups.siteadmin grants and revokes site admin',
  groups_sync: 'groups.sync mirrors the groups of the provider',
  userinfo_only: 'a login works with claims at the UserInfo endpoint only',
  id_token_only: 'a login works with claims in the ID token only',
  signed_rs384: 'a login works with ID tokens signed by RS384',
  signed_rs512: 'a login works with ID tokens signed by RS512',
  signed_ps256: 'a login works with ID tokens signed by PS256',
  signed_es256: 'a login works with ID tokens signed by ES256',
  signed_es512: 'a login works with ID tokens signed by ES512',
  signed_eddsa: 'a login works with ID tokens signed by EdDSA',
  signed_hs256: 'a login works with ID tokens signed by HS256',
  signed_userinfo: 'a login verifies signed UserInfo',
  encrypted_rsa_oaep: 'a login works with ID tokens encrypted by RSA-OAEP',
  encrypted_rsa_oaep_256: 'a login works with ID tokens encrypted by RSA-OAEP-256',
  encrypted_ecdh_es: 'a login works with ID tokens encrypted by ECDH-ES',
  encrypted_userinfo: 'a login decrypts UserInfo',
  form_post_code: 'a login works with response_mode form_post and code',
  form_post_hybrid: 'a login works with code id_token by form_post',
  form_post_id_token: 'a login works with id_token by form_post',
  fragment: 'a login works with response_mode fragment and code',
  jarm_query: 'a login works with response_mode query.jwt (JARM)',
  jarm_form_post: 'a login works with response_mode form_post.jwt (JARM)',
  pushed: 'a login works with required pushed requests',
  request_object: 'a login works with signed request objects',
  pushed_request_object: 'a login works with signed and pushed request objects',
  dpop: 'a login works with DPoP',
  max_age: 'a provider asks for the password again after default_max_age',
  authorization_params: 'a provider asks for the password if authorization_params has prompt=login',
  logout: 'logout ends the provider’s session and returns to the host',
  backchannel_one: 'back-channel logout of one session ends only that session',
  backchannel_all: 'back-channel logout of a user ends all sessions',
  backchannel_all_one_sid: 'back-channel logout of a user by one sid ends all sessions',
  introspection_disabled: 'introspection reports that a user was disabled',
  introspection_ended: 'introspection reports that a session has ended',
  ...RENEWALS,
  revocation: 'logout revokes the access token',
  key_rotation: 'a login works after the provider has rotated its signing keys',
  down_at_start: 'a login works after the provider was down when the server started',
  down_at_logout: 'logout ends the session while the provider is down',
  private_ca: 'a login works with a private certificate authority',
  wrong_secret: 'a wrong client_secret fails the login, and the log names the setting',
  wrong_client_id: 'a wrong client_id fails the login',
  wrong_redirect_uri: 'an unregistered redirect address fails the login',
  wrong_post_logout: 'logout ends the session despite an unregistered post-logout address',
  wrong_issuer_slash: 'a login works although the issuer has a slash too many or too few',
  wrong_issuer_path: 'an issuer with a wrong path fails discovery, and the log names the address',
  wrong_scope: 'a scope unknown to the provider is ignored, or fails the login with its name',
  wrong_signing_alg: 'a wrong ID token algorithm fails the login, and the log names the setting',
  wrong_auth_method: 'an unregistered auth method fails the login, unless the provider accepts it',
  wrong_key: 'a client key unknown to the provider fails the login',
  wrong_group: 'a group that the provider does not send refuses the user, and is in the log',
  cancelled: 'a login that the user cancels returns to the login page without a session',
  live_well: 'the live check finds no failure with correct settings',
  live_wrong_secret: 'the live check finds a wrong client_secret',
  live_wrong_client_id: 'the live check finds a wrong client_id',
  live_wrong_redirect_uri: 'the live check finds an unregistered redirect address',
} as const

/** The name of a case, also used in a provider's `cannot` and `ownPage`. */
export type CaseName = keyof typeof CASES

/** Gives one reason for several cases. */
export function because(reason: string, ...names: readonly CaseName[]): Readonly<Partial<Record<CaseName, string>>> {
  return Object.fromEntries(names.map((name) => [name, reason]))
}
const ALL = Object.keys(CASES) as readonly CaseName[]
const named = (words: RegExp) => ALL.filter((name) => words.test(name))
/** Secrets that must be encoded for Basic authentication. */
export const ENCODED = named(/^secret_(?!uuid)/)
export const ENCRYPTED = named(/^encrypted_/)
export const JARM = named(/^jarm_/)
export const FORM_POST = named(/^form_post_/)
export const CERTIFICATES = named(/tls_client_auth$/)
export const BACKCHANNEL = named(/^backchannel_/)
