import { RENEWALS } from './renewals.ts'

/** The cases that the matrix tries on every provider, in this order. */
export const CASES = {
  login: 'login with name and e-mail address',
  client_secret_basic: 'client_secret_basic',
  client_secret_post: 'client_secret_post',
  client_secret_jwt: 'client_secret_jwt',
  private_key_jwt: 'private_key_jwt, keys by address',
  public_client: 'no secret (none, PKCE)',
  tls_client_auth: 'tls_client_auth',
  self_signed_tls_client_auth: 'self_signed_tls_client_auth',
  secret_uuid: 'a secret with dashes (UUID)',
  secret_blanks: 'a secret with blanks',
  secret_signs: 'a secret with + % : / & =',
  secret_letters: 'a secret with letters beyond ASCII',
  groups_unasked: 'groups sent without a scope',
  groups_by_scope: 'groups by the scope groups',
  groups_required: 'groups.required',
  groups_siteadmin: 'groups.siteadmin, granted and revoked',
  groups_sync: 'groups.sync',
  userinfo_only: 'claims at the UserInfo endpoint only',
  id_token_only: 'claims in the ID token only',
  signed_rs384: 'ID token RS384',
  signed_rs512: 'ID token RS512',
  signed_ps256: 'ID token PS256',
  signed_es256: 'ID token ES256',
  signed_es512: 'ID token ES512',
  signed_eddsa: 'ID token EdDSA',
  signed_hs256: 'ID token HS256',
  signed_userinfo: 'UserInfo signed',
  encrypted_rsa_oaep: 'ID token RSA-OAEP',
  encrypted_rsa_oaep_256: 'ID token RSA-OAEP-256',
  encrypted_ecdh_es: 'ID token ECDH-ES',
  encrypted_userinfo: 'UserInfo encrypted',
  form_post_code: 'response_mode form_post with code',
  form_post_hybrid: 'code id_token by form_post',
  form_post_id_token: 'id_token by form_post',
  fragment: 'response_mode fragment with code',
  jarm_query: 'JARM: query.jwt',
  jarm_form_post: 'JARM: form_post.jwt',
  pushed: 'required pushed requests',
  request_object: 'signed request objects',
  pushed_request_object: 'signed request objects, pushed',
  dpop: 'DPoP',
  max_age: 'default_max_age',
  authorization_params: 'custom.authorization_params: prompt',
  logout: 'logout ends the provider’s session and returns',
  backchannel_one: 'back-channel logout of one session',
  backchannel_all: 'back-channel logout of all sessions',
  backchannel_all_one_sid: 'back-channel logout of all sessions by one sid',
  introspection_disabled: 'introspection notices a disabled user',
  introspection_ended: 'introspection notices an ended session',
  ...RENEWALS,
  revocation: 'the access token is revoked at logout',
  key_rotation: 'new signing keys while signed in',
  down_at_start: 'provider down when the server starts',
  down_at_logout: 'provider down when a user signs out',
  private_ca: 'a private certificate authority',
  wrong_secret: 'wrong client_secret',
  wrong_client_id: 'wrong client_id',
  wrong_redirect_uri: 'redirect address not registered',
  wrong_post_logout: 'post-logout address not registered',
  wrong_issuer_slash: 'issuer with a slash too many or too few',
  wrong_issuer_path: 'issuer with a wrong path',
  wrong_scope: 'a scope unknown to the provider',
  wrong_signing_alg: 'wrong ID token algorithm',
  wrong_auth_method: 'auth method other than registered',
  wrong_key: 'a client key unknown to the provider',
  wrong_group: 'a required group that the provider does not send',
  cancelled: 'the user cancels the login',
  live_well: 'check --live of correct settings',
  live_wrong_secret: 'check --live of a wrong client_secret',
  live_wrong_client_id: 'check --live of a wrong client_id',
  live_wrong_redirect_uri: 'check --live of an unknown redirect address',
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
