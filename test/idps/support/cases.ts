import { RENEWALS } from './renewals.ts'

/** What the matrix tries on every provider, in this order. */
export const CASES = {
  login: 'a login, and who it is',
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
  groups_unasked: 'groups that come without a scope',
  groups_by_scope: 'groups by a scope of their own',
  groups_rules: 'groups.required, siteadmin and sync, and groups that are left',
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
  pushed: 'pushed requests that the client demands',
  request_object: 'signed request objects',
  pushed_request_object: 'signed request objects, pushed',
  dpop: 'DPoP',
  max_age: 'default_max_age',
  authorization_params: 'custom.authorization_params: prompt',
  logout: 'logout ends its own session, and returns',
  backchannel_one: 'back-channel logout of one session',
  backchannel_all: 'back-channel logout of all sessions',
  backchannel_all_one_sid: 'back-channel logout of all sessions, one sid told',
  introspection: 'introspection of a live session',
  ...RENEWALS,
  revocation: 'the access token is revoked at logout',
  wrong_secret: 'wrong client_secret',
  wrong_client_id: 'wrong client_id',
  wrong_redirect_uri: 'redirect address not registered',
  wrong_issuer_slash: 'issuer with a slash too many or too few',
  wrong_scope: 'a scope that it does not know',
  wrong_signing_alg: 'another ID token algorithm than it uses',
  wrong_auth_method: 'another auth method than registered',
  wrong_key: 'a client key that it does not know',
  cancelled: 'the person cancels',
  live_well: 'check --live of what is right',
  live_wrong_secret: 'check --live of a wrong client_secret',
  live_wrong_client_id: 'check --live of a wrong client_id',
  live_wrong_redirect_uri: 'check --live of an unknown redirect address',
} as const

/** Name of one case: what a provider's `cannot` and `ownPage` speak of. */
export type CaseName = keyof typeof CASES

/** One reason for several cases. */
export function because(reason: string, ...names: readonly CaseName[]): Readonly<Partial<Record<CaseName, string>>> {
  return Object.fromEntries(names.map((name) => [name, reason]))
}
export const ENCRYPTED = [
  'encrypted_rsa_oaep',
  'encrypted_rsa_oaep_256',
  'encrypted_ecdh_es',
  'encrypted_userinfo',
] as const
export const JARM = ['jarm_query', 'jarm_form_post'] as const
export const FORM_POST = ['form_post_code', 'form_post_hybrid', 'form_post_id_token'] as const
export const REQUEST_OBJECTS = ['request_object', 'pushed_request_object'] as const
export const CERTIFICATES = ['tls_client_auth', 'self_signed_tls_client_auth'] as const
export const BACKCHANNEL = ['backchannel_one', 'backchannel_all', 'backchannel_all_one_sid'] as const
